"""What reaches the terminal: themes and their contrast, glyphs in ASCII, no colour, and of each picture only what differs."""
