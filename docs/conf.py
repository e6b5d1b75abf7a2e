"""Sphinx settings; run `make docs`."""

import tomllib
from pathlib import Path

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = "piase_gym"
author = "the piase_gym authors"
copyright = f"2026, {author}"
release = version = _project["version"]

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = f"piase_gym {release}"
