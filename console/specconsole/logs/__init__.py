"""Log records: the journal followed, peeled, masked and kept."""
