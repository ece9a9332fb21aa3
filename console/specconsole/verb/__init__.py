"""The subcommands, one module each: arguments in, text or JSON out."""
