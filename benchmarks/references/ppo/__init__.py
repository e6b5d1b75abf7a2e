"""Models of the reference PPO, one a task, as ``piase bench references --train`` writes them."""
