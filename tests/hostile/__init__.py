"""The product attacked: what a hostile host, server, log, file or neighbour can try, a test each (`docs/security.md`)."""
