"""Use cases over a site or a node, and the exchange between console and nodes."""
