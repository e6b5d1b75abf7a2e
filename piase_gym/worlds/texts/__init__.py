"""What text worlds share: commands, canonical lines, letters, names; imports nothing itself."""
