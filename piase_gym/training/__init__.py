"""Training: Stable-Baselines3, PPO in one file, and training through a curriculum."""
