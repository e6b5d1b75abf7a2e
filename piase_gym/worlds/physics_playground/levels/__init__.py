"""What there can be in a PhysicsPlayground, and where it is at the start."""
