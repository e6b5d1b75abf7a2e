"""Recipe books, tasks and ids of WordCraft."""
