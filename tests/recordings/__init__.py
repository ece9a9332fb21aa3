"""How the recordings in `specconsole/host/recordings` are made from captures of real starts."""
