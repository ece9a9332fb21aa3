"""What a file that somebody collected is, and what it means: recognised by content, judged by the packages below."""
