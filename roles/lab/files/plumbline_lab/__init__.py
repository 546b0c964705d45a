"""The lab: a small storage cluster on one machine.

The role `lab` runs `python3 -m plumbline_lab VERB`.  Each verb does one thing and can be repeated.
It prints a line that starts with "changed:" for each change, and fails with one sentence.
"""
