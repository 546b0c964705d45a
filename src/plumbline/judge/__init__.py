"""Judge measurements: expectation, series and the clock's value in, one verdict out.

``component`` judges a target or a disk, ``pair`` a host by its network partners, ``group`` the
median of peers.  Each operation goes through the ordered tables of ``absence`` and ``rules``;
the worst finding decides.  Nothing is imported here: a check takes only what it needs.
"""
