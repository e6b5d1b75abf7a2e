"""Lines out of files in any state: plain, compressed, torn, damaged, too large."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piase_gym.errors import MissingExtraError, RunError
from piase_gym.runs import log_file
from piase_gym.runs.log_file import Problem, Raw, has_columns, open_log, parse, raw_lines

TEXT = b'{"a":1}\n\n{"b":22222222}\nlast'
RAWS = [
    Raw(1, b'{"a":1}', False),
    Raw(2, b"", False),
    Raw(3, b'{"b":22222222}', False),
    Raw(4, b"last", True),
]


def written(folder: Path, content: bytes) -> Path:
    """Return a file with a content."""
    path = folder / "run.jsonl"
    path.write_bytes(content)
    return path


def in_members(content: bytes) -> bytes:
    """Return a content as two members of gzip."""
    return gzip.compress(content[:10]) + gzip.compress(content[10:])


def zstd(content: bytes) -> bytes:
    """Return a content as two frames of zstandard."""
    pack = pytest.importorskip("zstandard").ZstdCompressor().compress
    return bytes(pack(content[:10]) + pack(content[10:]))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "members": in_members,
    "zstd": zstd,
}


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize("chunk", [1, 3, 8, 1 << 20])
def test_lines_are_the_same_in_whatever_pieces_a_file_comes(
    packed: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "CHUNK", chunk)
    monkeypatch.setattr(log_file, "PIECE", chunk)
    path = written(tmp_path, PACKERS[packed](TEXT))
    assert list(raw_lines(path)) == RAWS
    path.write_bytes(PACKERS[packed](TEXT + b"\n"))
    assert list(raw_lines(path)) == [*RAWS[:3], Raw(4, b"last", False)]
    path.write_bytes(b"")
    assert list(raw_lines(path)) == []


def kept(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """Return a list of what a function of the module returns from now on."""
    real, found = getattr(log_file, name), list[Any]()

    def keep(*given: Any) -> Any:
        found.append(real(*given))
        return found[-1]

    monkeypatch.setattr(log_file, name, keep)
    return found


def test_a_file_is_closed_when_its_reader_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = kept(monkeypatch, "open_log")
    for content in (TEXT, gzip.compress(TEXT)):
        lines = raw_lines(written(tmp_path, content))
        next(lines)
        lines.close()  # type: ignore[attr-defined]
    plain, packed = opened
    assert plain.closed
    assert packed._file.closed


@pytest.mark.parametrize("length", [16, 17])
def test_a_line_is_as_long_as_allowed_and_no_longer(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "CHUNK", 4)
    monkeypatch.setattr(log_file, "MAX_LINE", 16)
    path = written(tmp_path, b"short\n" * 9 + b"x" * length)
    *first, last = raw_lines(path)
    assert first == [Raw(number, b"short", False) for number in range(1, 10)]
    long = Problem(10, "the line has more than 16 bytes")
    assert last == (Raw(10, b"x" * 16, True) if length == 16 else long)


def test_compressed_data_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    good = gzip.compress(b"one\ntwo\nthr")
    path = written(tmp_path, good + b"no gzip")
    *lines, fault = raw_lines(path)
    assert lines == [Raw(1, b"one", False), Raw(2, b"two", False)]
    assert isinstance(fault, Problem)
    assert fault.line == 3
    assert fault.severity == "error"
    assert fault.reason.startswith("the compressed data is damaged: ")
    path.write_bytes(good[:-9])  # cut short
    assert [raw.data for raw in raw_lines(path) if isinstance(raw, Raw)][:2] == [b"one", b"two"]


def test_what_expands_too_far_is_refused_past_the_first_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "MAX_LINE", 100)
    monkeypatch.setattr(log_file, "MAX_RATIO", 2)

    def ends(content: bytes) -> Any:
        packed = gzip.compress(content)
        *_, last = raw_lines(written(tmp_path, packed))
        return last, len(packed)

    last, size = ends(b"ab\n" * 33)  # within the first bytes, however much it expands
    assert 2 * size < 99
    assert last == Raw(33, b"ab", False)
    last, size = ends(b"ab\n" * 34)
    assert 2 * size < 102
    assert last == Problem(35, "the data expands more than 2 times; it is refused")
    monkeypatch.setattr(log_file, "MAX_RATIO", 50)
    assert ends(b"ab\n" * 34)[0] == Raw(34, b"ab", False)


def test_data_may_expand_to_just_the_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "PIECE", 2)

    def unpacked(given: bytes, most: int, ratio: int) -> tuple[bytes, str]:
        monkeypatch.setattr(log_file, "MAX_LINE", most)
        monkeypatch.setattr(log_file, "MAX_RATIO", ratio)
        file = log_file._Unpacked(io.BytesIO(given), lambda: lambda packed: packed * 3, ValueError)
        return file.read(100), file.fault

    refused = "the data expands more than 2 times; it is refused"
    assert unpacked(b"abcd", 5, 3) == (b"abababcdcdcd", "")
    assert unpacked(b"abcd", 12, 2) == (b"abababcdcdcd", "")
    assert unpacked(b"abcdef", 11, 2) == (b"abababcdcdcd", refused)


def test_reading_stops_at_about_the_size_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_file, "PIECE", 2)
    file = log_file._Unpacked(io.BytesIO(b"abcdefgh"), lambda: bytes, ValueError)
    assert [file.read(4), file.read(3), file.read(9), file.read(9)] == [b"abcd", b"efgh", b"", b""]


def breaks(packed: bytes) -> bytes:
    """Unpack all but one letter."""
    if b"f" in packed:
        raise KeyError("bad")
    return packed


def test_what_is_before_damage_is_read_and_nothing_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_file, "PIECE", 2)
    file = log_file._Unpacked(io.BytesIO(b"abcdefgh"), lambda: breaks, KeyError)
    assert file.read(8) == b"abcde"
    assert file.fault == "the compressed data is damaged: 'bad'"
    assert file.read(8) == b""


class Columns(io.BytesIO):
    """What a file of columns is while it is read."""

    drift = (7, 1, 0, "aa", "bb")
    fault = "the rest is gone"


@pytest.mark.parametrize(("cut", "severity"), [(True, "warning"), (False, "error")])
def test_columns_say_what_is_wrong_with_them_behind_their_lines(
    cut: bool, severity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Columns(b"one\ntorn")
    file.cut = cut  # type: ignore[attr-defined]
    monkeypatch.setattr(log_file, "open_log", lambda *_: file)
    told = "after step 7 the state of slot 0 was aa, is now bb"
    assert list(raw_lines("any")) == [
        Raw(1, b"one", False),
        Problem(2, "the rest is gone", severity),
        Problem(2, told, "error", Columns.drift),
    ]


def test_lines_do_not_expand_and_columns_are_known_by_their_beginning(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT)
    assert not has_columns(path)
    with pytest.raises(RunError, match=r"run\.jsonl has lines already; only columns expand"):
        open_log(path, "full")
    path.write_bytes(b"\xff\xff\xff\xff more")
    assert has_columns(path)
    path.write_bytes(b"\xff\xff\xff")
    assert not has_columns(path)
    with pytest.raises(RunError, match=r"^the log .*none\.jsonl cannot be read: No such file"):
        open_log(tmp_path / "none.jsonl")
    with pytest.raises(RunError, match=r"cannot be read: .*embedded null"):
        open_log(f"{tmp_path}/a\0b")


def test_who_lacks_zstandard_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = kept(monkeypatch, "open_regular")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match="a compressed log") as caught:
        open_log(written(tmp_path, b"\x28\xb5\x2f\xfd and more"))
    assert "data" in str(caught.value)
    assert opened[0].closed


TORN = "the last line is torn: the run was cut short while it was written"


@pytest.mark.parametrize(
    ("data", "torn", "found"),
    [
        (b'{"a":1}', False, {"a": 1}),
        (b'{"a":1}', True, {"a": 1}),
        (b'{"a":', True, Problem(5, TORN, "warning")),
        (b"[1]", True, Problem(5, TORN, "warning")),
        (b"12", True, Problem(5, TORN, "warning")),
        (b"[1]", False, Problem(5, "the line is a JSON list, not an object")),
        (b"null", False, Problem(5, "the line is a JSON NoneType, not an object")),
        (b"  ", False, Problem(5, "the line is empty")),
        (b"ab\xff", False, Problem(5, "the line is not UTF-8: invalid start byte at byte 2")),
    ],
)
def test_a_line_is_an_event_or_says_why_it_is_none(data: bytes, torn: bool, found: Any) -> None:
    assert parse(Raw(5, data, torn)) == found


def test_what_is_not_json_says_where() -> None:
    found = parse(Raw(5, b'{"a":x}', False))
    assert isinstance(found, Problem)
    assert found.reason.startswith("the line is not JSON: ")
    assert "column 6" in found.reason
    assert str(found) == f"line 5: {found.reason}"
    assert str(Problem(0, "gone")) == "gone"
