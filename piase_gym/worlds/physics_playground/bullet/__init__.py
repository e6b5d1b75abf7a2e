"""Scenes in Bullet, and Bullet's files."""
