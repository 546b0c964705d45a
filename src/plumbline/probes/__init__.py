"""One tool each: how it is called, and what its output means."""
