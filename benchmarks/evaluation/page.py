"""One static HTML page that needs nothing beside it: pictures are in it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from xml.etree import ElementTree as Xml

MEDIA = {".png": "image/png", ".gif": "image/gif"}


class Page:
    """A page that is written from top to bottom."""

    def __init__(self, title: str) -> None:
        """Start with the title."""
        self.title = title
        self.body = Xml.Element("main")
        self.text("h1", title)

    def text(self, tag: str, words: str, kind: str = "") -> None:
        """Add a heading or a paragraph."""
        element = Xml.SubElement(self.body, tag, {"class": kind} if kind else {})
        element.text = words

    def items(self, words: Sequence[str], kind: str = "") -> None:
        """Add a list."""
        place = Xml.SubElement(self.body, "ul", {"class": kind} if kind else {})
        for item in words:
            Xml.SubElement(place, "li").text = item

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table; cells that begin like numbers stand on the right."""
        scroll = Xml.SubElement(self.body, "div", {"class": "scroll"})
        table = Xml.SubElement(scroll, "table")
        line = Xml.SubElement(Xml.SubElement(table, "thead"), "tr")
        for cell in head:
            Xml.SubElement(line, "th").text = cell
        body = Xml.SubElement(table, "tbody")
        for row in rows:
            line = Xml.SubElement(body, "tr")
            for cell in row:
                number = cell[:1].isdigit() or cell[:1] in "-–"
                Xml.SubElement(line, "td", {"class": "number"} if number else {}).text = cell

    def picture(self, path: Path, words: str) -> None:
        """Add a picture with its description below it."""
        self._figure(self.body, path, words)

    def films(self, films: Sequence[tuple[Path, str]]) -> None:
        """Add pictures side by side, with their captions."""
        grid = Xml.SubElement(self.body, "div", {"class": "films"})
        for path, words in films:
            self._figure(grid, path, words)

    def _figure(self, place: Xml.Element, path: Path, words: str) -> None:
        """Add one picture."""
        figure = Xml.SubElement(place, "figure")
        data = base64.b64encode(path.read_bytes()).decode()
        source = f"data:{MEDIA[path.suffix]};base64,{data}"
        Xml.SubElement(figure, "img", {"src": source, "alt": words})
        Xml.SubElement(figure, "figcaption").text = words

    def html(self) -> str:
        """Return the page."""
        template = resources.files(__package__).joinpath("page.html").read_text("utf-8")
        title = Xml.Element("t")
        title.text = self.title
        safe = Xml.tostring(title, "unicode").removeprefix("<t>").removesuffix("</t>")
        body = Xml.tostring(self.body, "unicode", method="html")
        return Template(template).substitute(title=safe, body=body)
