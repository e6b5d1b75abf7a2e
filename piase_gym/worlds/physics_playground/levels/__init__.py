"""What a PhysicsPlayground is furnished with, and where it is at the start."""
