"""What agents see of TextRoom: text, vector, pictures; imports nothing itself."""
