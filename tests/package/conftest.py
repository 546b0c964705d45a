"""What all tests of the package rest on."""

import signal

from hypothesis import settings

# A shell that starts the tests in the background ignores Ctrl-C for them and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more of the machine's other work than of the code.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")
