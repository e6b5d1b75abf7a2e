"""PhysicsPlayground: rovers and spheres among things with mass. This package imports nothing."""
