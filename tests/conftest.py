"""Settings of the test-suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Timing never decides a test.
settings.register_profile("piase_gym", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("piase_gym")
