"""The only code that touches a machine: run an argv, stream, open a channel."""
