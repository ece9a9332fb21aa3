"""A load: its phases, whether it works, when it is ready."""
