"""Players of WordCraft."""
