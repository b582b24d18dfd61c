"""Contract suites: what an implementation of yours must pass to be used like ours. Imported by tests only."""
