"""Symptoms: what hardware and kernel of a node say about themselves, beside the numbers.

``system`` is how a collector sees the node, ``parts`` which component of the topology a device is,
``counters`` what has grown since an earlier look.  One module a collector; ``gather`` asks them
all; ``symptom`` is what they find and ``evidence`` the words that it adds to a verdict.  Whatever
touches the world is handed in (plumbline.run.system), so nothing here does.
"""
