"""What agents of WordCraft see."""
