"""The only folder that talks to Bullet."""
