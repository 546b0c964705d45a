"""The metric that says which device of a host is which component: who writes and who reads it."""

DEVICE_INFO = "plumbline_device_info"
