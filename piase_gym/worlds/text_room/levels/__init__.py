"""TextRoom's stories: models, validation, generated quests; imports nothing itself."""
