"""Who plays WordCraft."""
