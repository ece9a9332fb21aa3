"""The screen; the only code that imports textual."""
