"""How a probe file is put on one storage target, and how that is proven."""
