"""Space: fill and inodes of each target of a file system, and the day on which it is full."""
