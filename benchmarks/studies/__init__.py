"""Studies: questions that were answered once, with what was measured. Run from a checkout alone."""
