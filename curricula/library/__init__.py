"""The curricula that ship, one file each."""
