"""ScreenSearch: a real window is looked at and driven with keys."""
