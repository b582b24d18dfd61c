"""The command line: thin, and quick to start because each command imports what it needs."""

__all__: list[str] = []
