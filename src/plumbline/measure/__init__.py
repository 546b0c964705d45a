"""One component at a time: tool, placement and its proof, run, lock."""
