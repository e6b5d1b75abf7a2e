"""Models of the reference PPO, one per task, as ``piase bench references --train`` writes them."""
