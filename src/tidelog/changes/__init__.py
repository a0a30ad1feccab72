"""What comes in and goes out: updates, changes, streams of updates, and the files and tables that hold facts."""
