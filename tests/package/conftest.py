"""What all tests of the package rest on."""

import signal

# A shell that starts the tests in the background ignores Ctrl-C for them and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
