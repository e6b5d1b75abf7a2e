"""What worlds of text share: commands, canonical lines, letters, names; imports nothing itself."""
