"""Relations and texts as sorted files: written by executors, looked up by the driver without a job."""
