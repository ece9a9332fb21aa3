"""Where the app's data comes from: the domain's generators for one host, imported when they are first asked for."""
