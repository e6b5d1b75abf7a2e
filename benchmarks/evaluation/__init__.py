"""Evaluation: the protocol, its suites, and how episodes are played and summarised."""
