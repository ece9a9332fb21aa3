"""The log as it is read: which records, which lines of them are in view, what is searched for; no widget."""
