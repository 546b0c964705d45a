"""The exchange between a console and the nodes of a site: what it asks, what they answer.

``answers`` is what a node says, all else is the console's.  Both have the standard library alone.
Nothing is imported here.
"""
