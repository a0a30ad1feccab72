"""What a pipeline file says, and what is wrong with one."""
