"""Rule-based players of ObjectSearch."""
