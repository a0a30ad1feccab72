"""Spark itself: a Java, a session, jobs that fail with a code, frames and files that outlive a job."""
