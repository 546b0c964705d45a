"""Locate: from observations of every layer to the components that explain the slow ones.

``observation`` says what was measured and what it crosses, ``parts`` which components could have
slowed it, ``cover`` finds the smallest sets of them, ``likelihood`` compares sets of one size,
``suspects`` puts the answer together, ``next_probe`` says what would divide it, ``words`` and
``document`` say it to people and to programs.  ``measurables``, ``observe``, ``window`` and
``candidates`` read expectations and what was measured.
"""
