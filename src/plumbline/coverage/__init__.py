"""Whether others used a target while it was measured, by the counters of the target's servers.

What a server counted second by second and what a client measured are brought together here: the
share of the probe in all that went through the target, and the job that moved most beside it.
"""
