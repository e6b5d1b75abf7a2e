"""What commands do in PhysicsPlayground, and what a step is worth."""
