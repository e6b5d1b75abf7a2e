"""TextRoom: the design document's text adventure, with scenarios, quests and several agents."""
