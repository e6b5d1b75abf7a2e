"""ObjectSearch: explorers look for things in a place, and report what they see."""
