"""The console that every command prints to."""

from __future__ import annotations

from rich.console import Console

console = Console()
