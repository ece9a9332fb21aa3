"""Units: found, described, watched."""
