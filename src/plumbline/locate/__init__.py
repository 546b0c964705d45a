"""Locate: from observations of every layer to the components that explain the slow ones.

``observation`` says what was measured and what it crosses, ``parts`` which components could have
slowed it, ``alike`` and ``hosts`` which of them did so by other losses than of capacity, ``cover``
finds the smallest sets of them, ``likelihood`` compares sets of one size, ``solving`` does both,
``suspects`` puts the answer together, ``next_probe`` says what would divide it, ``words`` and
``document`` say it to people and to programs.  ``measurables``, ``observe``, ``votes`` and
``candidates`` read expectations and what was measured.  ``investigation`` looks for a fault that
is there now, in ``step`` after ``step``, and ``failures`` explains what failed instead of being
slow.
"""
