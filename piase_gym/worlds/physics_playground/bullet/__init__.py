"""Scenes of Bullet, and its files."""
