"""What the screen says, as rows: text with the names of inks, laid out for a width; no widget and no colour."""
