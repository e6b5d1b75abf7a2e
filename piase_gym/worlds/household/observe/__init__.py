"""What agents and people see of a home."""
