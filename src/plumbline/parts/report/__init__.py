"""Pictures of a whole site as plain files that open from disk."""
