"""The rules of WordCraft, compiled."""
