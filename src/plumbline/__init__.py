"""plumbline finds the slow part of a parallel storage system and says how sure it is."""

__all__ = ["__version__"]

# Nodes run this package as plain files, where no installed metadata can be asked; the number's
# home is galaxy.yml, and tests/project/test_version.py keeps this line equal to it.
__version__ = "0.2.0"
