"""The rules of Household: what is legal, what a command does, what is answered."""
