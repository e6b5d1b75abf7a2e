"""What every part of the package builds on: the World contract, and the types that it uses."""
