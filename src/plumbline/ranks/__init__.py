"""The measuring processes of a parallel probe: ``python3 -m plumbline.ranks JOBFILE`` under MPI.

Each rank writes and reads one place on one target; the launching host starts them, see
:mod:`plumbline.run.fs`.  The one place that knows MPI.
"""
