"""Facts of a host: commands and files, and what their text means."""
