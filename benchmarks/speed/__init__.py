"""Speed: what our worlds cost, beside C and other packages; ``python -m`` measures all of it."""
