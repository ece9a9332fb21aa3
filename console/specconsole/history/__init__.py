"""What was measured and loaded before, in SQLite."""
