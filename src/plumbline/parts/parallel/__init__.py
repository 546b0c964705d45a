"""Measure all targets at once: ranks under MPI, their profiles, and sweeps."""
