"""The console's last word: what each node must know, and what Nagios must ask for.

``references`` sets ceilings and baselines beside the measurements, ``services`` names what Nagios
sees, ``plan`` puts all of it into one document.
"""
