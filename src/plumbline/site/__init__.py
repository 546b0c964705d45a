"""Use cases over a whole site, or over one node of it, that any door can call.

A door declares arguments, calls one of these and prints what it gives.  Nodes have the standard
library alone, and so has everything here.  Nothing is imported here.
"""
