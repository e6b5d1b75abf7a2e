"""Studies: questions that were answered once, with the measurements. They need a checkout."""
