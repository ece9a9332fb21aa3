"""Disposable hosts for tests: real systemd, journald and OpenSSH in namespaces of this machine. See README.md."""
