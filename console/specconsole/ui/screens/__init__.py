"""Screens, each with its layout beside it."""
