"""Reports: from a stored `results.json` to Markdown, plots, films and one HTML page."""

from __future__ import annotations

import base64
import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.llm import Usage
from piase_gym.benchmarks.evaluation import plots, tables
from piase_gym.benchmarks.evaluation.cross_play import cross_tables
from piase_gym.benchmarks.evaluation.policies import Policy, read_policies
from piase_gym.benchmarks.evaluation.protocol import PROTOCOL
from piase_gym.benchmarks.evaluation.results import Results, read_sections, timings_beside
from piase_gym.benchmarks.evaluation.rollout import Job, SeatedWorld, play_one
from piase_gym.benchmarks.evaluation.suites import Setting, slug
from piase_gym.core.files import replacing, write_whole
from piase_gym.errors import MissingExtraError, PiaseError, ProtocolError, StorageError
from piase_gym.worlds.texts.wording import counted

FRAMES = 80
SIDE = 400
"""Longest side of a picture, in pixels."""
MILLISECONDS = 120


def film(setting: Setting, policy: Policy, seed: int) -> list[NDArray[np.uint8]]:
    """Play an episode and return its pictures, the first `FRAMES` of them.

    Returns:
        Arrays of shape (height, width, 3).
    """
    frames: list[NDArray[np.uint8]] = []

    def watch(_: object) -> None:
        if len(frames) < FRAMES:
            frames.append(seated.world.rgb())

    with contextlib.closing(SeatedWorld(Job(setting, policy.at(setting), (seed,)))) as seated:
        play_one(seated, seed, watch)
    return frames


def write_gif(frames: list[NDArray[np.uint8]], path: Path) -> None:
    """Write pictures as an animated GIF that pauses at its end and starts again."""
    from PIL import Image

    pictures = []
    for frame in frames:
        picture = Image.fromarray(frame)
        picture.thumbnail((SIDE, SIDE))
        pictures.append(picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=64))
    times = [MILLISECONDS] * (len(pictures) - 1) + [1200]
    first, *rest = pictures
    with replacing(path) as new:
        first.save(new, save_all=True, append_images=rest, duration=times, loop=0, optimize=True)


TITLE = "piase_gym: benchmark report"
FILMS = 18
"""The largest number of films in a report."""


PROFILES = (
    "Performance profiles: the share of runs over all tasks that score more than τ, with 95 % "
    "bands. Scores below -100 lie beyond the left edge."
)
IMPROVEMENT = (
    "Probability of improvement: how often a run of the line's policy scores more than one of "
    "the column's on the same task, ties counting half; the mean over tasks."
)
INTERVALS = (
    "Intervals are 95 %. They draw training runs, then episodes, and for scores the references "
    "too. A policy with one run has intervals over episodes only: they say nothing about another "
    "training of it."
)
LEVELS = {
    False: (
        "These seeds are kept from training, the levels they draw are not: training may have met "
        "them. Only the split new_levels tells about generalisation to levels."
    ),
    True: (
        "All levels are of the held-out part by the hash of what is drawn: who trained on the part "
        "train (keep_to) never met them. Fixed tasks, which have few levels, are left out."
    ),
}
RATES = (
    "Blue: this package; grey: others, and the baseline. They play different games, so that only "
    "orders of magnitude can be compared."
)
SCORES = "Scores by task, with 95 % intervals; an arrow at the left edge is a score below -100."
BY_STEPS = (
    "How far the same episodes are after equally many steps. Intervals are 95 %, over seeds and "
    "repeats. An episode that is over stays as it ended."
)
BY_TOKENS = "How far the episodes are when each has asked and answered so many tokens."


@dataclass(frozen=True)
class Section:
    """One section of a report.

    Attributes:
        title: Heading.
        words: Paragraphs.
        head: Head of a table.
        rows: Its rows.
        pictures: Files and their descriptions.
        texts: Longer texts, below their titles.
    """

    title: str
    words: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()
    pictures: tuple[tuple[Path, str], ...] = ()
    texts: Sequence[tuple[str, str]] = ()


def write_report(out: Path) -> list[Path]:
    """Write ``report.md`` and ``report.html`` next to a stored ``results.json``.

    Returns:
        The two files.

    Raises:
        ProtocolError: If there are no results of this protocol.
        StorageError: If `out` is a file, or the reports cannot be written.
    """
    if out.is_file():
        raise StorageError(f"{out} is a file; name a folder")
    path = out / "results.json"
    data, timings = read_sections(path), read_sections(timings_beside(path))
    if not data and "throughput" not in timings:
        raise ProtocolError(
            f"{path} holds no results of protocol {PROTOCOL}; make them with: "
            f"piase bench smoke --out {out}"
        )
    parts: list[Section] = []
    if "rows" in data:
        results = Results.from_json(data, str(path), timings)
        parts += result_parts(results, out)
    if "llm" in data:
        parts += model_parts(data["llm"])
    if throughput := {**data, **timings}.get("throughput"):
        parts += throughput_parts(throughput, out)
    write_whole(out / "report.md", _markdown(parts, out).encode())
    write_whole(out / "report.html", _html(parts).encode())
    return [out / "report.md", out / "report.html"]


def _markdown(parts: Sequence[Section], out: Path) -> str:
    """Return the report as Markdown, which names the files of its pictures."""
    lines = [f"# {TITLE}", ""]
    for part in parts:
        lines += [f"## {part.title}", "", *(line for words in part.words for line in (words, ""))]
        lines += [tables.markdown(part.head, part.rows)] if part.rows else []
        for title, text in part.texts:
            lines += [f"### {title}", "", *(f"    {line}" for line in text.splitlines()), ""]
        for path, words in part.pictures:
            lines += [f"![{words}]({path.relative_to(out).as_posix()})", ""]
    return "\n".join(lines)


def _html(parts: Sequence[Section]) -> str:
    """Return the report as one HTML page that needs no other files: it contains its pictures.

    Raises:
        MissingExtraError: If Jinja is not installed.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingExtraError("a report", "bench") from error
    folder = FileSystemLoader(Path(__file__).parent)
    pages = Environment(loader=folder, autoescape=True, undefined=StrictUndefined)
    pages.filters["data_uri"] = _data_uri
    return pages.get_template("report.html").render(title=TITLE, sections=parts) + "\n"


def _data_uri(path: Path) -> str:
    """Return a picture as a data URI."""
    return f"data:image/{path.suffix[1:]};base64,{base64.b64encode(path.read_bytes()).decode()}"


# -- evaluation ---------------------------------------------------------------------------


def result_parts(results: Results, out: Path) -> list[Section]:
    """Return the sections about an evaluation."""
    parts = [_summary(results, out), *_improvements(results)]
    parts += [_scores(results, out), *_crossing(results, out)]
    parts.append(_behaviour(results))
    if films := _films(results, out):
        words = f"The episode of the first seed, its first {FRAMES} pictures at most."
        parts.append(Section("Films", (words,), pictures=films))
    if results.problems:
        rows = [(problem.where, problem.what) for problem in results.problems]
        parts.append(Section("Problems", head=("where", "what"), rows=rows))
    if results.skipped:
        reasons = tables.by_reason(results.skipped)
        rows = [(why, ", ".join(map(plots.short, names))) for why, names in reasons.items()]
        words = "This is not counted against anybody."
        parts.append(Section("Not played", (words,), ("why", "tasks"), rows))
    seeds = [record.seed for record in results.episodes]
    span = f"{min(seeds)} to {max(seeds)}" if seeds else "none"
    entries = [*results.versions.items(), ("seeds", span)]
    return [*parts, Section("Versions", (), ("what", "value"), entries)]


def _summary(results: Results, out: Path) -> Section:
    """Return the section that says what was played and how well."""
    rows = []
    for policy in results.policies:
        own = [row for row in results.rows if row.policy == policy]
        scored = sum(row.score is not None for row in own)
        whole = sum(row.episodes for row in own)
        overall = tables.interval(results.overall(policy), 1)
        runs = str(results.runs_of(policy))
        scored_of = f"{scored} of {len(results.settings)}"
        rows.append((policy, runs, overall, scored_of, str(whole)))
    words = (
        f"Suite {results.suite['name']}, split {results.split}: "
        f"{counted(len(results.settings), 'task')}. "
        "0 points are the best policy that does not look (random or no-op), 100 points are the "
        "best that is known: the task's oracle where it is certified, else the best of all stored "
        "references. The overall score is the interquartile mean over tasks and training runs. "
        "All episodes are in results.json beside this page.",
        INTERVALS,
        LEVELS[results.split == "new_levels"],
    )
    drawn = (
        (plots.plot_profiles(results, out / "plots" / "profiles.png"), PROFILES),
        (plots.plot_improvement(results, out / "plots" / "improvement.png"), IMPROVEMENT),
    )
    pictures = tuple((path, words) for path, words in drawn if path is not None)
    head = ("policy", "runs", "overall score", "tasks scored", "episodes")
    return Section("Overall", words, head, rows, pictures)


def _improvements(results: Results) -> list[Section]:
    """Return the table of which policy beats which, with intervals."""
    pairs = itertools.combinations(results.policies, 2)
    found = [(mine, other, results.improvement(mine, other)) for mine, other in pairs]
    rows = [(mine, other, tables.interval(chance)) for mine, other, chance in found if chance]
    head = ("policy", "other", "P(policy beats other)")
    words = (IMPROVEMENT.replace("line's", "first").replace("column's", "other's"),)
    return [Section("Improvement", words, head, rows)] if rows else []


def _scores(results: Results, out: Path) -> Section:
    """Return the table of all rows."""
    drawn = plots.plot_scores(results, out / "plots" / "scores.png")
    pictures = () if drawn is None else ((drawn, SCORES),)
    return Section("Tasks", (), tables.HEAD, tables.result_rows(results), pictures)


def _crossing(results: Results, out: Path) -> list[Section]:
    """Return the sections about play with partners."""
    pictures = []
    for number, table in enumerate(cross_tables(results)):
        path = plots.plot_cross_play(table, out / "plots" / f"cross_play_{number}.png")
        pictures.append((path, plots.short(table.label)))
    words = (
        "Lines are the evaluated policies in the focal seats, columns who plays the other seats."
    )
    return [Section("Partners", (words,), pictures=tuple(pictures))] if pictures else []


def _behaviour(results: Results) -> Section:
    """Return what the policies did on the way."""
    rows = []
    for row in results.rows:
        marks = ", ".join(f"{name} {mean:.2f}" for name, mean in row.milestones.items())
        outcomes = ", ".join(f"{name} {100 * x:.0f} %" for name, x in row.outcomes.items())
        counts = f"{row.messages:.1f}", f"{row.hints:.1f}", f"{row.seconds:.2f}"
        refer = tables.references(row.gap)
        rows.append((row.setting, row.policy, refer, outcomes, marks, *counts))
    head = ("task", "policy", "0 and 100 points", "outcomes", "milestones", "messages", "hints")
    return Section("Behaviour", (), (*head, "seconds"), rows)


def _films(results: Results, out: Path) -> tuple[tuple[Path, str], ...]:
    """Return the existing films of these results, with captions."""
    found = []
    for row in results.rows:
        path = film_path(out, row.setting, row.policy)
        records = results.of(row.setting, row.policy)
        if path.is_file() and records:
            first = records[0]
            ends = ", ".join(dict.fromkeys(first.results.values()))
            task = f"{plots.short(row.setting)}: {row.policy}"
            found.append((path, f"{task}, {ends} after {first.steps} steps"))
    return tuple(found[:FILMS])


def film_path(out: Path, setting: str, policy: str) -> Path:
    """Return the path of the film of a policy in a setting."""
    return out / "films" / f"{slug(setting)}__{slug(policy)}.gif"


def make_films(
    settings: Sequence[Setting], policies: Any, results: Results, out: Path, most: int = FILMS
) -> list[Path]:
    """Film first episodes: of each task the best policy, then the second best, and so on.

    What cannot be filmed is left out: its failure is in the results already.
    """
    found: list[Path] = []
    chosen = {policy.name: policy for policy in reversed(read_policies(policies))}
    ranked = []
    for setting in settings:
        rows = [row for row in results.rows if row.setting == setting.label and row.value]
        rows.sort(key=lambda row: -(row.value or (0.0,))[0])
        ranked += [(rank, setting, row.policy) for rank, row in enumerate(rows)]
    for _, setting, policy in sorted(ranked, key=lambda entry: entry[0]):
        if len(found) < most:
            path = film_path(out, setting.label, policy)
            seed = results.of(setting.label, policy)[0].seed
            frames = []
            with contextlib.suppress(PiaseError, ValueError):
                frames = film(setting, chosen[policy], seed)
            if frames:
                write_gif(frames, path)
                found.append(path)
    return found


# -- language models ----------------------------------------------------------------------


def model_parts(data: Any) -> list[Section]:
    """Return the sections about a language model: its usage, its progress and what it said."""
    from piase_gym.benchmarks.evaluation.language_models import progress_rows, transcript_text

    usage, spent = Usage(**data["usage"]), Usage(**data["spent"])
    settings = [(name, str(value)) for name, value in data["settings"].items() if name != "prompt"]
    entries = [
        ("prompt id", data["prompt_id"]),
        *settings,
        ("all episodes took", str(usage)),
        ("of that in the last run", str(spent)),
    ]
    parts = [Section("Language model", (), ("what", "value"), entries)]
    for measure, words in (("steps", BY_STEPS), ("tokens", BY_TOKENS)):
        rows = progress_rows(data["progress"], measure)
        head = ("task", "policy", f"{measure} an episode", "won so far, %", "return so far")
        parts += [Section(f"Progress by {measure}", (words,), head, rows)] if rows else []
    texts = [
        (f"{found['setting']}, seed {found['seed']}, {found['agent']}: {found['result']}", text)
        for found in data["transcripts"]
        if (text := transcript_text(found))
    ]
    words = "The first episode of each task. All replies are in replies.jsonl beside this page."
    return [*parts, Section("Transcripts", (words,), texts=texts)] if texts else parts


# -- throughput ---------------------------------------------------------------------------


def throughput_parts(data: Any, out: Path) -> list[Section]:
    """Return the sections about throughput."""
    rows, rate = data["environments"], "agent-steps per CPU-second"
    lines: list[tuple[str, ...]]
    head: tuple[str, ...]
    base = rows[0]["rate"] if rows else 1.0
    lines = [
        (row["name"], f"{row['rate']:,.0f}", f"{row['rate'] / base:.3g}", row["version"])
        for row in rows
    ]
    words = (
        "Agent-steps per CPU-second of one process under random actions; all rows in turn in one "
        "run, medians. Figures drift with the machine, ratios less so.",
        "Not installed, so not measured: " + (", ".join(data["missing"]) or "nothing") + ".",
        *(f"{name} failed: {why}" for name, why in data["failed"].items()),
    )
    picture = (plots.plot_rates(rows, out / "plots" / "throughput.png"), RATES)
    head = ("environment", rate, "ratio to the first", "version")
    parts = [Section("Throughput", words, head, lines, (picture,))]
    peers = data["peers"]
    bases = list(peers["rates"][0]["ratios"])
    lines = [
        (row["name"], f"{row['rate']:,.0f}", *(f"{row['ratios'][base]:.2f}" for base in bases))
        for row in peers["rates"]
    ]
    head = ("environment", rate, *(f"x {base}" for base in bases))
    parts.append(Section("The same task", (peers["title"] + ".",), head, lines))
    for name, scan in data["scaling"].items():
        axis, points = scan["axis"], scan["points"]
        text = f"CPU time of an agent-step by {axis}; both axes are logarithmic."
        picture = (plots.plot_scaling(points, axis, out / "plots" / f"{name}.png"), text)
        lines = [(str(point[axis]), f"{point['rate']:,.0f}") for point in points]
        parts.append(Section(scan["title"], (), (axis, rate), lines, (picture,)))
    return parts
