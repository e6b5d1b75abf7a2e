"""What every part of the package stands on: the World contract, and the values it speaks in."""
