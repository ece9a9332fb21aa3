"""Widgets, each with its own look."""
