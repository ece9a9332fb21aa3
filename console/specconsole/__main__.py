"""`python -m specconsole` is the same program as `specconsole`."""

from specconsole.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
