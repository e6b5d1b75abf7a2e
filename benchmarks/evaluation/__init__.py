"""Evaluation: the protocol, its suites, how episodes are played, and what they come to."""
