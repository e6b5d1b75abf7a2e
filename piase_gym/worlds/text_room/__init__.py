"""TextRoom: the text adventure of seed 000, with scenarios, a generator and several agents."""
