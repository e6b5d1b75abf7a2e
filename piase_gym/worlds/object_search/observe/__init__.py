"""What agents perceive of ObjectSearch: vectors, texts, pictures."""
