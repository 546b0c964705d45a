"""Samples and references in, evidence, verdict and sentence out."""
