"""Where the tests find the checkout, and what lies beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
SHARED = ROOT.parent / "shared"
"""Source documents and recorded data, where they are at hand; tests that need them skip without."""
