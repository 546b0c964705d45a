"""Read facts of a host: run commands, read files, parse their text."""
