"""The lab: a small storage cluster on one machine.

`python3 -m plumbline_lab VERB` is run by the role `lab`; each verb does one thing, can be repeated,
prints one line starting with "changed:" for each thing it changed, and fails with one sentence.
"""
