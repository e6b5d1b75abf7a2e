"""WordCraft: combine things until the goal is made."""
