"""The conformance table of the operators: cases by hand, peers, and why they differ."""
