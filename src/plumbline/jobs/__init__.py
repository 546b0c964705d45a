"""Which job moved how much on which target, whoever has said it.

Servers count it by ``job_stats``, Darshan logs say it of their files, a scheduler knows when a job
ran and what it is called.  Here all of it becomes the same few values.
"""
