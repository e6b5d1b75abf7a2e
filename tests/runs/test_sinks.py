"""Places where lines go: what each shows, keeps or refuses; and what a packer packs."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from piase_gym import parallel_env
from piase_gym.errors import ConfigError, LogWriteError, MissingExtraError
from piase_gym.runs.recording import record
from piase_gym.runs.sinks import ConsoleSink, FileSink, MemorySink, output_file, packer


def line(level: str = "INFO", **data: Any) -> bytes:
    """Return a line of a log."""
    event = {
        "timestamp": "2020-01-02T03:04:05.678901Z",
        "agent_id": "a",
        "log_level": level,
        "event_type": "X",
        "step": 12,
        "event_data": data,
    }
    return orjson.dumps(event) + b"\n"


def test_the_console_shows_a_short_form_of_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    sink = ConsoleSink(stream, "STATE")
    sink.write(line("INFO", x=1) + line("STATE", x=2) + line("ERROR", x=3))
    assert stream.getvalue().splitlines() == [
        '03:04:05.678     12 a X {"x":2}',
        '03:04:05.678     12 a X {"x":3}',
    ]
    ConsoleSink().write(line("DEBUG") + line(x=1))
    assert capsys.readouterr().err == '03:04:05.678     12 a X {"x":1}\n'
    with pytest.raises(ConfigError, match=r"unknown log_level 'debug'; .*'DEBUG'"):
        ConsoleSink(stream, "debug")


@pytest.mark.parametrize("length", [160, 161])
def test_long_data_is_cut_on_the_console(length: int) -> None:
    stream = io.StringIO()
    ConsoleSink(stream).write(line(x="y" * (length - len('{"x":""}'))))
    shown = stream.getvalue().removeprefix("03:04:05.678     12 a X ").removesuffix("\n")
    assert len(shown) == 160
    assert shown.endswith("y..." if length == 161 else 'y"}')


def test_memory_keeps_events() -> None:
    sink = MemorySink()
    sink.write(line(x=1) + line(x=2))
    sink.flush()
    sink.close()
    assert [event["event_data"] for event in sink.events] == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_what_was_written_can_be_read_though_the_file_goes_on(ending: str, tmp_path: Path) -> None:
    from piase_gym.runs.log_file import raw_lines

    if ending == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / "new" / f"run.jsonl{ending}"
    sink = FileSink(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    sink.write(b"one\n")
    sink.write(b"two\n")
    begins = {"": b"one\n", ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
    assert path.read_bytes().startswith(begins[ending])
    told = [raw[1] for raw in raw_lines(path) if isinstance(raw, tuple)]
    assert told[:2] == [b"one", b"two"]
    sink.close()
    sink.close()
    if ending == ".gz":
        assert gzip.decompress(path.read_bytes()) == b"one\ntwo\n"
    with pytest.raises(LogWriteError, match=r"there is a log at .* already; give another path"):
        FileSink(path)
    path.chmod(0o644)
    again = FileSink(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again.write(b"three\n")
    again.close()
    assert [raw[1] for raw in raw_lines(path) if isinstance(raw, tuple)] == [b"three"]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_what_a_full_disk_took_can_be_read(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from piase_gym.runs.log_file import raw_lines

    def refuse(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / f"run.jsonl{ending}"
    sink = FileSink(path)
    sink.write(b"one\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refuse)
        with pytest.raises(OSError, match="No space left"):
            sink.write(b"two\n")
    sink.close()
    told = list(raw_lines(path))
    assert isinstance(told[0], tuple)
    assert told[0][1] == b"one"
    assert not any("damaged" in str(line) for line in told), "the end counted what was lost"


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_log_is_kept_until_there_is_something_to_write_in_its_place(
    ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"run.jsonl{ending}"
    first = FileSink(path)
    first.write(b"one\n")
    first.close()
    kept = path.read_bytes()
    FileSink(path, overwrite=True).close()
    assert path.read_bytes() == kept
    env = parallel_env("GridWorld")
    with closing(env), pytest.raises(ConfigError, match="unknown on_error 'never'"):
        record(env, path, overwrite=True, on_error="never")
    assert path.read_bytes() == kept


def test_another_process_writes_nothing_into_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = FileSink(tmp_path / "run.jsonl.gz")
    sink.write(b"one\n")
    size = sink.path.stat().st_size
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -7)
        sink.write(b"two\n")
        sink.close()
    assert sink.path.stat().st_size == size


def test_a_file_that_cannot_be_opened_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first = FileSink(path)
    with pytest.raises(LogWriteError, match=r"run\.jsonl has a writer already; one writer a file"):
        FileSink(path, overwrite=True)
    first.close()
    with pytest.raises(LogWriteError, match=r"is a folder; a log is a file such as .*run\.jsonl"):
        FileSink(tmp_path)
    with pytest.raises(LogWriteError, match=r"logs are not written as \.xz; allowed: \.jsonl"):
        FileSink(tmp_path / "run.jsonl.xz")
    with pytest.raises(LogWriteError, match="is a device or a pipe; a log is a file"):
        FileSink("/dev/null")
    with pytest.raises(LogWriteError, match=r"cannot be opened: .*embedded null"):
        FileSink(tmp_path / "a\0b")
    with pytest.raises(LogWriteError, match="cannot be opened: File exists"):
        FileSink(path / "run.jsonl")


def test_a_file_is_opened_for_bytes_where_systems_know_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows would write each line feed as two characters."""
    binary, flags, real = 1 << 30, [], os.open

    def opened(path: Path, flag: int, mode: int) -> int:
        flags.append(flag)
        return real(path, flag & ~binary, mode)

    monkeypatch.setattr(os, "O_BINARY", binary, raising=False)
    monkeypatch.setattr(os, "open", opened)
    FileSink(tmp_path / "run.jsonl").close()
    assert [flag & binary for flag in flags] == [binary]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink, real, room = FileSink(tmp_path / "run.jsonl"), os.write, [3, 4]

    def write(file: int, data: Any) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "full")
        return real(file, bytes(data)[: room.pop(0)])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        sink.write(b"one....")  # in two pieces
        assert sink.path.read_bytes() == b"one...."
        room += [2]
        with pytest.raises(OSError, match="full"):
            sink.write(b"two")
        with pytest.raises(OSError, match="full"):
            sink.write(b"three")
    assert sink.path.read_bytes() == b"one...."
    sink.write(b"four")
    sink.close()
    assert sink.path.read_bytes() == b"one....four"


def test_what_is_made_of_a_log_goes_elsewhere(tmp_path: Path) -> None:
    log, other = tmp_path / "run.jsonl", tmp_path / "other"
    log.touch()
    with output_file(other, log, False):
        pass
    with output_file(other, log, True):
        pass
    (tmp_path / "link").symlink_to(log)
    for place, overwrite, told in (
        (log, True, "run.jsonl is the log itself; give another name"),
        (tmp_path / "link", True, "link is the log itself; give another name"),
        (tmp_path, True, "is a folder; name a file"),
        (Path("/dev/null"), True, "/dev/null is no file; name a file"),
        (other, False, "other exists; give another name, or overwrite=True"),
    ):
        with pytest.raises(LogWriteError) as caught, output_file(place, log, overwrite):
            pass
        assert str(caught.value).endswith(told)
    long = Path("x" * 300)
    told = "^x+ could not be written: File name too long$"
    with pytest.raises(LogWriteError, match=told), output_file(long, log, True):
        pass


def test_packers_go_by_the_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    assert packer(Path("a.jsonl")) is None
    made = packer(Path("a.gz"))
    assert made is not None
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert unpack.decompress(made.pack(b"one")) == b"one"
    assert unpack.decompress(made.pack(b"two") + made.end()) == b"two"
    assert unpack.eof
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"a log that ends with \.zst"):
        packer(Path("a.zst"))
