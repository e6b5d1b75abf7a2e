"""The scripted controllers of PhysicsPlayground."""
