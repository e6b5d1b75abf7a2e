"""The scenarios that ship, as YAML files."""
