"""References: the scores and the trained models that ship, and how both are made."""
