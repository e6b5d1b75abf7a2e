"""The rules of ObjectSearch, compiled: what agents do, and what they see from where they are."""
