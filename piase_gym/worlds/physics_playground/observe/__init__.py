"""What agents of a PhysicsPlayground perceive, and its pictures."""
