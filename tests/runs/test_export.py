"""Exports, read back with the libraries that others read them with; counts, pictures, commands."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym import runs
from piase_gym.errors import ConfigError, LogWriteError, RunError
from piase_gym.runs.manifest import rebuild, require_slot
from piase_gym.wrappers import AvtLogger
from tests.helpers.cli_runner import piase
from tests.helpers.piaavt import lines, refusal
from tests.helpers.run_worlds import Seen, grid, play


@pytest.fixture(scope="module")
def seen() -> list[Seen]:
    """What the environment of `log` reported."""
    return []


@pytest.fixture(scope="module")
def log(seen: list[Seen], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log at the level of actions."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    env = AvtLogger(grid(), path)
    seen.append(play(env, episodes=5))
    env.close()
    return path


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_parquet(path: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def read_sqlite(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM events ORDER BY rowid")]


def read_hdf5(path: Path) -> list[dict[str, Any]]:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path) as file:
        group = file["events"]
        columns = {name: group[name][:].tolist() for name in group}
    texts = {n: [v.decode() if isinstance(v, bytes) else v for v in c] for n, c in columns.items()}
    return [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]


READERS = {"csv": read_csv, "parquet": read_parquet, "sqlite": read_sqlite, "h5": read_hdf5}


@pytest.mark.parametrize("ending", READERS)
def test_tables_hold_every_event(ending: str, log: Path, tmp_path: Path) -> None:
    out = tmp_path / f"run.{ending}"
    runs.export(log, out)
    rows = READERS[ending](out)
    told = [
        {**row, "event_data": json.loads(row["event_data"]), "step": int(row["step"])}
        for row in rows
    ]
    for row in told:
        row["episode"] = int(row["episode"])
    assert told == lines(log)
    with pytest.raises(LogWriteError, match="exists"):
        runs.export(log, out)
    runs.export(log, out, overwrite=True)


def test_the_legacy_dialect_and_epochs(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "legacy.jsonl"
    runs.export(log, out, dialect="legacy", timestamps="epoch")
    for old, new in zip(lines(out), lines(log), strict=True):
        assert old["source"] == new["source_component_id"]
        assert old["data"] == new["event_data"]
        assert isinstance(old["timestamp"], float)
    first, last = lines(out)[0], lines(out)[-1]
    assert last["timestamp"] - first["timestamp"] >= 0.0
    frame = runs.read(log).to_pandas()
    assert frame["timestamp"].iloc[0].timestamp() == pytest.approx(first["timestamp"], abs=1e-5)


@pytest.mark.parametrize("ending", [*READERS, "jsonl"])
@pytest.mark.parametrize("at", [0, 7])
def test_a_run_that_cannot_be_exported_leaves_what_was_there(
    ending: str, at: int, log: Path, tmp_path: Path
) -> None:
    damaged, out = tmp_path / "damaged.jsonl", tmp_path / f"run.{ending}"
    told = [{**row, "timestamp": "2020"} if n == at else row for n, row in enumerate(lines(log))]
    damaged.write_text("".join(f"{json.dumps(row)}\n" for row in told), "utf-8")
    out.write_text("what was there")
    with pytest.raises(RunError, match="'2020' does not match format"):
        runs.export(damaged, out, timestamps="epoch", overwrite=True)
    assert out.read_text() == "what was there"
    assert {path.name for path in tmp_path.iterdir()} == {"damaged.jsonl", out.name}


def test_expanded_lines_are_those_of_the_level_events(tmp_path: Path) -> None:
    paths = {level: tmp_path / f"{level}.jsonl" for level in ("actions", "events")}
    for level, path in paths.items():
        env = AvtLogger(grid(), path, level=level, run_id="one")
        play(env, episodes=3)
        env.close()
    out = tmp_path / "expanded.jsonl"
    runs.export(paths["actions"], out, expand=True)
    assert all(refusal(line) == "" for line in out.read_text("utf-8").splitlines())
    ids = [event["event_id"] for event in lines(out)]
    assert len(set(ids)) == len(ids)

    def told(path: Path) -> list[Any]:
        kept = [e for e in lines(path) if "ACTION" in e["event_type"] or "REW" in e["event_type"]]
        return [
            (e["agent_id"], e["event_type"], e["step"], e["episode"], e["event_data"]) for e in kept
        ]

    assert told(out) == told(paths["events"])
    again = tmp_path / "again.jsonl"
    runs.export(paths["events"], again, expand=True)
    assert told(again) == told(out)


def test_minari_has_a_dataset_an_agent(
    log: Path, seen: list[Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    ids = runs.export(log, "piase/test", format="minari")
    assert isinstance(ids, list)
    assert len(ids) == 3
    for name in ids:
        agent = name.split("/")[-1].removesuffix("-v0")
        data = minari.load_dataset(name)
        assert data.total_episodes == 5
        lengths = [len(episode.actions) for episode in data.iterate_episodes()]
        assert lengths == seen[0].lengths[agent]
        totals = [float(episode.rewards.sum()) for episode in data.iterate_episodes()]
        assert totals == pytest.approx(seen[0].returns[agent])
    # The first observations are those that the environment gave.
    observations, _ = grid(view="vector").reset(seed=0)
    first = next(iter(minari.load_dataset(ids[0]).iterate_episodes()))
    np.testing.assert_array_equal(first.observations[0], observations["agent_0"])


def test_counts(log: Path, seen: list[Seen], tmp_path: Path) -> None:
    found = runs.stats(log)
    events = lines(log)
    assert found.event_types == Counter(event["event_type"] for event in events)
    assert found.agents == Counter(event["agent_id"] for event in events)
    assert (found.lines, found.unread) == (len(events), 0)
    for agent, returns in seen[0].returns.items():
        goal = found.goals[agent]
        assert goal.returns == pytest.approx(sum(returns))
        assert goal.states["ACHIEVED"] == seen[0].won.get(agent, 0)
        assert goal.steps == sum(seen[0].lengths[agent])
    # Written by somebody else: other spacing, another order, a line that is none.
    foreign = tmp_path / "foreign.jsonl"
    rows = [json.dumps(dict(reversed(event.items()))) for event in events]
    foreign.write_text("\n".join([*rows, "oops"]) + "\n", "utf-8")
    other = runs.stats(foreign)
    assert (other.event_types, other.unread) == (found.event_types, 1)
    assert other.goals == found.goals


def test_sql_over_a_log(log: Path, seen: list[Seen]) -> None:
    pytest.importorskip("duckdb")
    run = runs.read(log)
    rows = run.sql("SELECT agent_id, sum(reward), count(*) FROM steps GROUP BY 1 ORDER BY 1")
    for agent, total, count in rows:
        assert total == pytest.approx(sum(seen[0].returns[agent]))
        assert count == sum(seen[0].lengths[agent])
    with pytest.raises(ConfigError, match=r"the query fails: .*step"):
        run.sql("SELECT * FROM step")
    kinds = dict(run.sql("SELECT event_type, count(*) FROM events GROUP BY 1"))
    assert kinds == Counter(event["event_type"] for event in run)


@pytest.mark.parametrize("ending", ["csv", "parquet", "sqlite", "h5"])
def test_fields_that_somebody_added_have_columns(ending: str, log: Path, tmp_path: Path) -> None:
    """Whatever is in them, whatever they are called, and wherever they begin."""
    more: list[dict[str, Any]] = [{}, {"order": 1, 'a "b"': True}, {"order": "two"}]
    more += [{"order": 2**63}, {"order": [1]}, {"label": None}]
    rows = [{**row, **(more[i] if i < len(more) else {})} for i, row in enumerate(lines(log))]
    path, out = tmp_path / "run.jsonl", tmp_path / f"run.{ending}"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    runs.export(path, out)
    if ending == "csv":
        with out.open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
    elif ending == "sqlite":
        with closing(sqlite3.connect(out)) as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute("SELECT * FROM events")]
    elif ending == "parquet":
        found = pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist()
    else:
        with pytest.importorskip("h5py").File(out) as file:
            texts = {k: v.asstr()[:] for k, v in file["events"].items() if v.dtype.kind == "O"}
        found = [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]
    assert len(found) == len(rows)
    assert [row["event_id"] for row in found] == [row["event_id"] for row in rows]
    told = [(row["order"] or "", row['a "b"'] or "", row["label"] or "") for row in found]
    assert told[:4] == [("", "", ""), ("1", "true", ""), ("two", "", ""), (str(2**63), "", "")]
    assert told[4:6] == [("[1]", "", ""), ("", "", "")]
    assert set(told[6:]) == {("", "", "")}


def test_pictures_end_where_the_run_can_no_longer_be_executed(log: Path, tmp_path: Path) -> None:
    rows = lines(log)
    step = next(row for row in rows if row["step"] == 3 and row["event_data"].get("kind") == "step")
    step["event_data"]["commands"]["agent_0"] = (step["event_data"]["commands"]["agent_0"] + 1) % 5
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert len(list(runs.frames(path, stop=2))) == 3
    with pytest.raises(RunError, match="cannot be executed again: step 3"):
        runs.render(path, tmp_path / "run.gif")
    assert not (tmp_path / "run.gif").exists()


def test_pictures_are_those_of_the_run(log: Path, tmp_path: Path) -> None:
    from PIL import Image

    env = grid(render_mode="rgb_array")
    env.reset(seed=0)
    pictures = runs.frames(log)
    np.testing.assert_array_equal(next(pictures), env.render())
    out = runs.render(log, tmp_path / "run.gif", stop=6)
    with Image.open(out) as image:
        assert image.n_frames > 1
        assert image.size == env.render().shape[1::-1]
    with pytest.raises(ConfigError, match="gif"):
        runs.render(log, tmp_path / "run.bmp")
    with pytest.raises(RunError, match="no step to show from step 1000000 to the end"):
        runs.render(log, tmp_path / "none.gif", start=10**6)
    with pytest.raises(RunError, match="no step to show from step 4 to step 2"):
        runs.render(log, tmp_path / "none.gif", start=4, stop=2)
    for bounds in ({"start": -1}, {"stop": "3"}, {"start": 1.5}):
        with pytest.raises(ConfigError, match="is a step of the run, 0 or more, not"):
            runs.render(log, tmp_path / "none.gif", **bounds)
    with pytest.raises(ConfigError, match="until is a step of the run, 0 or more, not '3'"):
        runs.replay(log, until="3")  # type: ignore[arg-type]
    metrics = runs.Metrics(log)
    assert metrics.get_performance_metric("agent_0", "episodes", slot=0) == 5
    for slot in (1, -1):
        with pytest.raises(ConfigError, match=f"no slot {slot} in this run; allowed: 0$"):
            metrics.get_performance_metric("agent_0", "episodes", slot=slot)
        with pytest.raises(ConfigError, match=f"no slot {slot} in this run; allowed: 0$"):
            runs.render(log, tmp_path / "none.gif", slot=slot)
        with pytest.raises(ConfigError, match=f"no slot {slot} in this run; allowed: 0$"):
            runs.fork(log, at=1, slot=slot)
    manifest = {**runs.read(log).manifest, "num_envs": 64}
    with pytest.raises(ConfigError, match="no slot 64 in this run; allowed: 0 to 63"):
        require_slot(manifest, 64)


def test_the_log_of_a_class_of_a_script_is_replayed_by_that_script_alone(log: Path) -> None:
    manifest = runs.read(log).manifest
    with pytest.raises(RunError, match=r"'__main__:Lamps'.*; only the script that defines it can"):
        rebuild({**manifest, "config": {**manifest["config"], "environment": "__main__:Lamps"}})


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plots_are_drawn(ending: str, log: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert runs.plot(log, tmp_path / f"run.{ending}").stat().st_size > 5000


def test_a_plot_without_an_ending_is_refused_by_its_own_name(log: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match=r"^'' is not a picture that can be drawn: Format '' is"):
        runs.plot(log, tmp_path / "run")


def test_a_plot_shows_any_name_of_a_run(log: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = runs.read(log)
    run.run_id = "$\\foo$"  # no formula
    assert runs.plot(run, tmp_path / "run.svg").read_text().count(r"$\foo$")


def test_a_video_that_cannot_be_finished_is_left(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    write, made = ffmpeg.write_frames, list[Any]()

    def watched(*args: Any, **options: Any) -> Any:
        made.append(write(*args, **options))
        return made[-1]

    monkeypatch.setattr(ffmpeg, "write_frames", watched)
    whole = log.read_bytes().splitlines(keepends=True)
    steps = [number for number, line in enumerate(whole) if b'"kind":"step"' in line]
    whole[steps[3]] = whole[steps[3]].replace(b'"digest":"', b'"digest":"0')
    (tmp_path / "broken.jsonl").write_bytes(b"".join(whole))
    with pytest.raises(RunError, match="cannot be executed again") as caught:
        runs.render(tmp_path / "broken.jsonl", tmp_path / "run.mp4")
    assert made[0].gi_frame is None  # while the error is still known
    assert not (tmp_path / "run.mp4").exists()
    del caught


def test_a_plot_shows_what_every_episode_came_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    path, kept = tmp_path / "run.jsonl", list[Any]()
    save = figures.Figure.savefig

    def keep(figure: Any, *more: Any, **options: Any) -> None:
        kept.append(figure)
        save(figure, *more, **options)

    monkeypatch.setattr(figures.Figure, "savefig", keep)
    env = AvtLogger(grid(agents=2, width=3, height=2, max_steps=4), path, run_id="one")
    seen = play(env, episodes=31)
    env.reset(seed=99)
    env.step(dict.fromkeys(env.agents, 4))  # what is broken off is not drawn
    env.close()
    runs.plot(path, tmp_path / "run.png")
    (figure,) = kept
    assert figure.get_size_inches().tolist() == [8.0, 8.0]
    charts = figure.axes
    assert [chart.get_ylabel() for chart in charts] == ["return", "length in steps", "success"]
    assert charts[0].get_title() == "GridWorld, run one"
    assert charts[2].get_xlabel() == "episode (success: mean of the last 20)"
    assert charts[2].get_ylim() == (-0.05, 1.05)
    assert [text.get_text() for text in charts[0].get_legend().get_texts()] == list(seen.returns)
    for chart in charts:
        assert all(line.get_visible() for line in chart.get_xgridlines())
        assert {line.get_alpha() for line in chart.get_ygridlines()} == {0.3}
        assert {line.get_marker() for line in chart.lines} == {"None"}
        assert charts[0].get_shared_x_axes().joined(charts[0], chart)
    ends = [e["event_data"] for e in lines(path) if e["event_type"] == "LEARNING_EPISODE_END"]
    for place, name in enumerate(seen.returns):
        returns, lengths, means = (chart.lines[place] for chart in charts)
        won = [float(end["results"][name] == "won") for end in ends[:31]]
        assert returns.get_label() == name
        assert {*won} == {0.0, 1.0}
        for line in (returns, lengths, means):
            assert line.get_xdata().tolist() == list(range(31))
        assert list(returns.get_ydata()) == pytest.approx(seen.returns[name])
        assert list(lengths.get_ydata()) == seen.lengths[name]
        last = [sum(won[max(0, i - 19) : i + 1]) / min(i + 1, 20) for i in range(31)]
        assert list(means.get_ydata()) == pytest.approx(last)
    few = AvtLogger(grid(), tmp_path / "few.jsonl")
    play(few, episodes=2)
    few.close()
    runs.plot(tmp_path / "few.jsonl", tmp_path / "few.png")
    assert {line.get_marker() for chart in kept[1].axes for line in chart.lines} == {"o"}


def test_an_animation_has_a_picture_a_state_at_its_pace(tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    play(env, episodes=2)
    env.close()
    states = [
        (event["step"], event["episode"])
        for event in lines(path)
        if event["event_data"].get("kind") in ("reset", "step")
    ]
    assert len(list(runs.frames(path))) == len(states)
    shown = [step for step, _ in states if 3 <= step <= 5]
    assert shown == [3, 4, 5]
    whole, part = list(runs.frames(path, stop=6)), list(runs.frames(path, start=3, stop=5))
    assert len(part) == 3
    for one, other in zip(part, whole[3:6], strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ConfigError, match="there is no slot 1 in this run; allowed: 0"):
        runs.frames(path, slot=1)
    with Image.open(runs.render(path, tmp_path / "run.gif", fps=8, start=0, stop=3)) as image:
        assert (image.n_frames, image.info["loop"]) == (4, 0)
        assert image.info["duration"] == 120  # 1000 // 8 = 125 ms, of which gif keeps hundredths
        assert image.size == whole[0].shape[1::-1]
    with Image.open(runs.render(path, tmp_path / "run.png", stop=5)) as image:
        np.testing.assert_array_equal(np.asarray(image), whole[5])
    for fps in (0, -1, 1.5, 101, True):
        with pytest.raises(ConfigError, match=f"fps is a whole number from 1 to 100, not {fps}"):
            runs.render(path, tmp_path / "no.gif", fps=fps)  # type: ignore[arg-type]
    assert runs.render(path, tmp_path / "slow.gif", fps=1, stop=1).exists()


def test_pictures_of_another_size_are_cut_or_padded() -> None:
    from piase_gym.runs.pictures import _fit

    picture = np.arange(1, 19, dtype=np.uint8).reshape(2, 3, 3)
    fitted = _fit(picture, (3, 2, 3))
    np.testing.assert_array_equal(fitted[:2], picture[:, :2])
    assert not fitted[2].any()
    np.testing.assert_array_equal(_fit(fitted, (2, 3, 3))[:, :2], picture[:, :2])
    assert not _fit(fitted, (2, 3, 3))[:, 2].any()


def test_a_video_has_the_pictures_at_an_even_size(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    from piase_gym.runs.pictures import _write_video

    grey = [np.full((33, 49, 3), 40 * n, np.uint8) for n in range(4)]
    _write_video(tmp_path / "run.mp4", grey[0], iter(grey[1:]), 5)
    decode = [ffmpeg.get_ffmpeg_exe(), "-i", str(tmp_path / "run.mp4")]
    decode += ["-f", "rawvideo", "-pix_fmt", "gray", "-"]
    done = subprocess.run(decode, capture_output=True, check=True)
    assert b"48x32" in done.stderr
    assert b" 5 fps" in done.stderr
    shades = np.frombuffer(done.stdout, np.uint8).reshape(4, 32 * 48).mean(axis=1)
    assert shades.tolist() == pytest.approx([0, 40, 80, 120], abs=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "a.xls"}, "ending"),
        ({"out": "a.csv", "format": "excel"}, "excel"),
        ({"out": "a.csv", "dialect": "old"}, "legacy"),
        ({"out": "a.csv", "timestamps": "unix"}, "epoch"),
        ({"out": "no spaces", "format": "minari"}, "dataset"),
        ({"out": "a.jsonl", "format": "chat", "expand": True}, "chat has none"),
        ({"out": "a", "format": "minari", "timestamps": "epoch"}, "minari has none"),
        ({"out": "a", "format": "minari", "dialect": "legacy"}, "minari has none"),
    ],
)
def test_wrong_exports_are_named(options: dict[str, Any], message: str, log: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        runs.export(log, **options)


def test_commands(log: Path, tmp_path: Path) -> None:
    done = piase("replay", str(log))
    assert done.returncode == 0, done.stderr
    assert "equal" in done.stdout
    edited = tmp_path / "edited.jsonl"
    events = lines(log)
    step = next(event for event in events if event["event_data"].get("kind") == "step")
    step["event_data"]["rewards"]["agent_0"] += 1
    edited.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    done = piase("replay", str(edited))
    assert done.returncode == 1
    assert "reward of agent_0" in done.stdout
    done = piase("fork", str(log), "--at", "2", "--action", "agent_0=stay", "--pairs", "3")
    assert done.returncode == 0, done.stderr
    assert "95% interval" in " ".join(done.stdout.split())
    assert piase("stats", str(log)).returncode == 0
    done = piase("export", str(log), str(tmp_path / "run.csv"), "--expand")
    assert done.returncode == 0, done.stderr
    done = piase("render", str(log), "-o", str(tmp_path / "run.png"))
    assert done.returncode == 0, done.stderr
    done = piase("fork", str(log), "--at", "2", "--action", "left")
    assert done.returncode == 2
    assert "AGENT=VALUE" in done.stderr
