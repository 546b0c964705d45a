"""What a run looked like over time: its calls, its rate in each second, and what these tell.

Pure: sequences in, numbers out.  ``calls`` is filled by the measuring loops, the rest works on it.
"""
