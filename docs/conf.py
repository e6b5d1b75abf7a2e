"""Sphinx settings; run `make docs`."""

import tomllib
from pathlib import Path

_text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
_project = tomllib.loads(_text)["project"]

project = "piase_gym"
author = "the piase_gym authors"
copyright = f"2026, {author}"
release = version = _project["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

# The reference of the API: signatures as they are written, names of types as words.
autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
napoleon_use_ivar = True
nitpick_ignore_regex = [("py:.*", ".*")]
suppress_warnings = ["ref.python"]  # a name that several modules offer

html_theme = "furo"
html_title = f"piase_gym {release}"
