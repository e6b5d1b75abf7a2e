"""Numbers that were measured stand in generated parts of the pages, and nowhere else.

The generated parts are those that docs/make_pages.py writes from the stored results.
"""

from __future__ import annotations

import re

import pytest

from tests.helpers.scripts import module_at
from tests.paths import ROOT

PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**/*.md")
ELSEWHERE = {
    "docs/evidence_teachers.md": "a plan that was fixed before, and results with their own tests",
}
"""Pages that are not looked at -> why."""
ALLOWED = {
    r"95 ?% (bootstrap )?interval": "the level of an interval",
    r"intervals are for 95 %": "the level of intervals",
    r"with 99 % confidence": "a rule of the protocol",
    r"the interval of 99 %": "the level of an interval",
    r"holds the truth at least 94 %": "simulated; test_statistics compares it",
    r"\b1/128 s\b": "a rule of PhysicsPlayground",
    r"\(64 million\)": "a default",
    r"1\.45 times the thrust": "a rule of PhysicsPlayground",
}
"""What only looks measured -> why it is not."""
WORDS = "two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty"
NUMBER = rf"(?:\d[\d.,]*|\b(?:{WORDS}|a hundred|a thousand))"
UNIT = r"(?:µs|ns|ms|s|(?:CPU-)?(?:seconds?|minutes?|hours?)|%|times|M|million|[GM]i?B)"
MEASURED = re.compile(rf"{NUMBER}(?:[ -]?{UNIT}|x)(?![\w/])")


def prose(text: str) -> str:
    """Return what of a page is typed by hand, on one line, without examples of code."""
    text = re.sub(r"<!-- (?!end)[^>]*-->.*?<!-- end[^>]*-->", " ", text, flags=re.S)
    return " ".join(re.sub(r"^```.*?^```$", " ", text, flags=re.S | re.M).split())


def pages() -> list[str]:
    """Return the names of the pages that are looked at."""
    found = [path.relative_to(ROOT) for glob in PAGES for path in ROOT.glob(glob)]
    return sorted(str(p) for p in found if "_build" not in p.parts and str(p) not in ELSEWHERE)


@pytest.mark.parametrize("page", pages())
def test_no_measured_number_is_typed_by_hand(page: str) -> None:
    text = prose((ROOT / page).read_text("utf-8"))
    for allowed in ALLOWED:
        text = re.sub(allowed, " ", text)
    found = [text[max(0, m.start() - 60) : m.end() + 20] for m in MEASURED.finditer(text)]
    told = "store it and have docs/make_pages.py write it, or say in ALLOWED why it is not measured"
    assert not found, f"{told}: {found}"


def test_every_generated_part_is_written_from_what_is_stored() -> None:
    pytest.importorskip("torch")  # of the module that measures training
    module = module_at(ROOT / "docs" / "make_pages.py")
    marked = {page for page in pages() if "<!-- end -->" in (ROOT / page).read_text("utf-8")}
    marked.discard("README.md")  # whose parts test_docs.py compares
    assert marked <= {f"docs/{name}" for name in module.WRITERS}
    for name, writers in module.WRITERS.items():
        text = (ROOT / "docs" / name).read_text("utf-8")
        written = re.sub(r"(<!-- (?!end)[^>]*-->\n).*?(<!-- end -->)", r"\1\2", text, flags=re.S)
        assert written != text
        for write in writers:
            written = write(written)
        assert written == text, "run python docs/make_pages.py"


def test_what_is_allowed_is_there() -> None:
    text = " ".join(prose((ROOT / page).read_text("utf-8")) for page in pages())
    assert [allowed for allowed in ALLOWED if not re.search(allowed, text)] == []
    assert [page for page in ELSEWHERE if not (ROOT / page).exists()] == []


MEANT = (
    "takes 4.6 µs a step",
    "in ten to twenty seconds",
    "costs 40% less",
    "1.5 times as fast",
    "won 81 %.",
    "in 15 CPU-seconds",
    "10 million events",
    "0.3 M | 29",
    "43.5x |",
)
OTHERS = ("5 steps of 1.2 m/s", "seed 000", "one simulation", "at 16x16", "| 2 x memory |")


@pytest.mark.parametrize("words", MEANT)
def test_a_measured_number_is_seen(words: str) -> None:
    assert MEASURED.search(words)


@pytest.mark.parametrize("words", OTHERS)
def test_other_numbers_are_left_alone(words: str) -> None:
    assert not MEASURED.search(words)


def test_only_what_is_written_by_hand_is_looked_at() -> None:
    hand = "a 1 s\n<!-- x: y -->\n2 s\n<!-- end -->\nb 3 s\n```sh\n4 s\n```\n"
    assert prose(hand + "<!-- w -->\n5 s<!-- end of w -->\n6 s") == "a 1 s b 3 s 6 s"
