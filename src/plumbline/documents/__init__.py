"""Read and write what people and machines keep: inventories, records, verdicts.

YAML is read here alone, and on the console alone.  Nothing is imported here.
"""
