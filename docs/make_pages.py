"""Writes the pages of the worlds from their docstrings, the README's table, and stored results.

Run it with ``python docs/make_pages.py``; a test keeps the pages fresh.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import piase_gym
from piase_gym import names, registry, scenarios
from piase_gym.benchmarks.evaluation.levels import stored_counts
from piase_gym.benchmarks.evaluation.tables import exploitability_table, reference_table
from piase_gym.benchmarks.references.learned import (
    dilemmas_table,
    learners_table,
    open_problems_table,
    partly_learned_table,
    trainings_table,
)
from piase_gym.benchmarks.references.references import shipped
from piase_gym.benchmarks.speed.commands import stored_sections as measured
from piase_gym.benchmarks.studies import (
    curriculum_report,
    physics_reach,
    sample_efficiency,
    training_report,
)
from piase_gym.benchmarks.studies.dilemmas import report as dilemma_report
from piase_gym.core.script.observables import COMMON
from piase_gym.core.world import World
from piase_gym.curricula.directors import DIRECTORS
from piase_gym.curricula.export import json_schema as curriculum_schema
from piase_gym.errors import MissingExtraError
from piase_gym.scenarios.schema import json_schema as scenario_schema
from piase_gym.training.settings import TrainSettings

FOLDER = Path(__file__).with_name("worlds")
README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- worlds -->\n", "<!-- end of worlds -->"


def page(name: str) -> str:
    """Return the page of a world, as Markdown."""
    spec = registry.world_spec(name)
    world, config = registry.load(spec.world, spec), registry.load(spec.config, spec)
    summary, rest = inspect.cleandoc(world.__doc__).split("\n\n", 1)
    sections = [
        f"# {name}",
        summary,
        *([f"![An episode of {name}](../images/{film(name)})"] if film(name) else []),
        rest,
        *(f"## {title}\n\n{text}" for title, text in sections_of(world).items()),
        *([f"## In words\n\n{words}"] if (words := beside("transcripts").in_words(name)) else []),
        *scripts_section(name, world, config),
        "## Arguments",
        beside("field_tables").config_table(config),
        "## Live changes",
        live_table(world, config),
        "## Ids",
        ids_table(name),
    ]
    return "\n\n".join(sections) + "\n"


def beside(name: str) -> Any:
    """Return a module that lies beside this one."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections_of(world: Any) -> Mapping[str, str]:
    """Return what a world derives from its tables for its page, by title."""
    derive = getattr(world, "page_sections", dict)
    return derive()  # type: ignore[no-any-return]


def scripts_section(name: str, world: Any, config: Any) -> list[str]:
    """Return what conditions and events of scenarios can be about, for a world that takes them."""
    if not world.scriptable or not issubclass(world, World):
        return []
    ids = [names.task_fields(registry.task_spec(task)) for task in piase_gym.list_tasks(name)]
    kinds = dict.fromkeys(world.kind_for(config(**fields)) for fields in ids or [{}])
    numbers = list(dict.fromkeys(id(kind.observables) for kind in kinds))
    parts = ["## Facts of scenarios", "See [Scenarios](../scenarios.md); beside the common facts:"]
    for number in numbers:
        kind = next(kind for kind in kinds if id(kind.observables) == number)
        if not kind.observables:
            return []
        parts += [f"### {kind.__name__}"] if len(numbers) > 1 else []
        parts.append(facts_table(kind.observables))
        if kind.spawnable:
            parts.append(f"Can appear and vanish: {', '.join(kind.spawnable)}.")
        if kind.live_fields:
            live = ", ".join(f"`{field}`" for field in kind.live_fields)
            parts.append(f"May change within an episode: {live}.")
    return parts


def facts_table(rows: Mapping[str, Any]) -> str:
    """List facts that conditions can be about."""
    lines = ["| fact | is | what it is | of |", "|---|---|---|---|"]
    for row in rows.values():
        words = ", ".join(row.codes) if row.codes else ""
        about = f"{row.about}: {words}" if words else row.about
        lines.append(f"| `{row.name}` | {row.kind} | {about} | {row.of} |")
    return "\n".join(lines)


def with_library(text: str) -> str:
    """Return the page about scenarios with the common facts, and those that ship."""
    rows = ["| name | world | agents | what it is about |", "|---|---|---|---|"]
    for name in scenarios.names():
        found = scenarios.load(name)
        count = len(found.agents) or found.config.agents
        rows.append(f"| `{name}` | {found.world} | {count} | {found.head.description} |")
    for marker, table in (("facts", facts_table(COMMON)), ("library", "\n".join(rows))):
        text = put(text, marker, table + "\n")
    return text


def formats() -> str:
    """Return the page with every field of the files that users write."""
    files = {
        "Scenarios": ("YAML or JSON; see [Scenarios](scenarios.md).", scenario_schema()),
        "Curricula": ("YAML or JSON; see [Curricula](curricula.md).", curriculum_schema()),
        "Trainings": (
            "What `piase train` and `TrainSettings` take; see [Training](training.md).",
            TrainSettings.model_json_schema(),
        ),
    }
    text = "Every field of the files that you write. Configs of worlds stand on the worlds' pages."
    parts = [f"# Fields of files\n\n{text}"]
    for title, (words, schema) in files.items():
        parts.append(f"## {title}\n\n{words}\n\n{beside('field_tables').file_tables(schema)}")
    return "\n\n".join(parts) + "\n"


def film(name: str) -> str:
    """Return the file of a world's moving picture, if there is one; `make_pictures` makes it."""
    file = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() + ".gif"
    return file if (FOLDER.parent / "images" / file).exists() else ""


def live_table(world: Any, config: Any) -> str:
    """List the fields of a config that may change within an episode."""
    rows = [
        "These fields may change within an episode, by `env.modify({...})`; all others wait for "
        "the next reset (see [Live changes](../runs.md#live-changes)).",
        "",
        "| field | meaning |",
        "|---|---|",
    ]
    fields = config.model_fields
    return "\n".join([*rows, *(f"| `{n}` | {fields[n].description} |" for n in world.live_fields)])


def ids_table(name: str) -> str:
    """List the ids of a world, with what differs from the defaults, and their levels."""
    rows = [
        "Levels are told apart by what a reset draws; see [Benchmarks](../benchmarks.md#levels).",
        "",
        "| id | config | levels |",
        "|---|---|---|",
    ]
    for task in piase_gym.list_tasks(name):
        row = registry.task_spec(task)
        changes = {"scenario": row.scenario, **row.config} if row.scenario else row.config
        text = ", ".join(f"`{key}={value!r}`" for key, value in changes.items())
        rows.append(f"| `{task}` | {text} | {stored_counts().get(task, '–')} |")
    return "\n".join(rows)


def worlds_table() -> str:
    """List the worlds that ship, with the kinds of their ids."""
    rows = ["| world | what it is | tasks |", "|---|---|---|"]
    for name in registry.list_worlds():
        spec = registry.world_spec(name)
        if spec.world.startswith("piase_gym."):
            link = f"[{name}](docs/worlds/{name}.md)"
            rows.append(f"| {link} | {spec.summary} | {kinds(name)} |")
    return "\n".join(rows) + "\n"


def films_table() -> str:
    """Show the worlds that ship, two in a row."""
    names = sorted(path.stem for path in FOLDER.glob("*.md") if film(path.stem))
    cells = [f"[![{n}](docs/images/{film(n)})](docs/worlds/{n}.md)" for n in names]
    rows = ["| | |", "|---|---|"]
    for i in range(0, len(names), 2):
        rows.append(f"| {' | '.join(cells[i : i + 2])} |")
        rows.append(f"| {' | '.join(names[i : i + 2])} |")
    return "\n".join(rows) + "\n"


def kinds(name: str) -> str:
    """Name the kinds of a world's ids, without sizes and versions, and how many there are."""
    ids = piase_gym.list_tasks(name)
    words = [task.split("/")[1].split("-")[1:-1] for task in ids]
    plain = ["-".join(w for w in part if not w[0].isdigit()) for part in words]
    found = dict.fromkeys(kind for kind in plain if kind)
    return f"{len(ids)} ids: {', '.join(found)}" if found else "1 id"


def readme(text: str) -> str:
    """Return the README with its table written anew."""
    before, rest = text.split(START)
    text = before + START + films_table() + "\n" + worlds_table() + END + rest.split(END)[1]
    return with_learners(text)


def with_references(text: str) -> str:
    """Return the page about benchmarks with what is stored of references and of oracles."""
    text = put(text, "references", reference_table(shipped()))
    return put(text, "exploitability", exploitability_table(shipped()))


def with_learners(text: str) -> str:
    """Return a page with what learners came to, at those of the places that it has."""
    shown = {
        "open": open_problems_table,
        "partly": partly_learned_table,
        "worlds": learners_table,
        "trainings": trainings_table,
        "dilemmas": dilemmas_table,
    }
    here = {name: table() for name, table in shown.items() if f"<!-- learners: {name} -->" in text}
    return with_sections(text, "learners", here)


def with_options(text: str) -> str:
    """Return the page about teachers with the options of all directors that have some."""
    kinds = {name: registry.load(where) for name, where in DIRECTORS.items()}
    table = beside("field_tables").options_tables(kinds) + "\n"
    return with_sections(text, "directors", {"options": table})


def with_sections(text: str, kind: str, sections: Mapping[str, str]) -> str:
    """Return a page with what stands at its marked places written anew."""
    for name, shown in sections.items():
        text = put(text, f"{kind}: {name}", shown)
    return text


def put(text: str, marker: str, shown: str) -> str:
    """Return a page with what stands at a marked place written anew."""
    before, rest = text.split(f"<!-- {marker} -->\n")
    after = rest.split("<!-- end -->", 1)[1]
    return f"{before}<!-- {marker} -->\n{shown}<!-- end -->{after}"


def with_teachers(text: str) -> str:
    """Return the page about the evidence on curricula with its arms and what its trainings say.

    Raises:
        MissingExtraError: If the extras are not installed with which it is trained and reckoned.
    """
    from piase_gym.benchmarks.studies.evidence import verdict

    return put(put(text, "arms", verdict.arms()), "teachers", verdict.stored())


def write_teachers(path: Path) -> None:
    """Write the page about the evidence, and draw its picture; without the extras they stay."""
    try:
        text = with_teachers(path.read_text("utf-8"))
        from piase_gym.benchmarks.studies.evidence.findings import Evidence
        from piase_gym.benchmarks.studies.evidence.verdict import PICTURE, draw

        draw(Evidence.read(), path.parent / PICTURE)
    except (MissingExtraError, ModuleNotFoundError):
        return
    path.write_text(text, encoding="utf-8")


def with_study(kind: str, study: ModuleType) -> Callable[[str], str]:
    """Return what puts the stored results of a study into a page."""
    return lambda text: with_sections(text, kind, study.stored_sections())


def with_measured(kind: str, name: str) -> Callable[[str], str]:
    """Return what puts the tables of a stored measurement into a page."""
    return lambda text: with_sections(text, kind, measured(name))


WRITERS: Mapping[str, Sequence[Callable[[str], str]]] = {
    "alfworld.md": (with_measured("household", "household"),),
    "benchmarks.md": (with_references, with_study("dilemmas", dilemma_report), with_learners),
    "cameras_and_windows.md": (with_measured("pictures", "pictures"),),
    "curricula.md": (with_study("training", curriculum_report),),
    "exploring.md": (with_measured("object_search", "object_search"),),
    "following_curricula.md": (with_measured("cost", "curriculum"),),
    "language_models.md": (
        with_measured("llm", "llm"),
        with_measured("text_lengths", "text_lengths"),
    ),
    "open_problems.md": (with_learners,),
    "memory.md": (with_measured("memory", "memory"),),
    "intercode.md": (
        with_measured("sql_query", "sql_query"),
        with_measured("sql_query_learning", "sql_query_learning"),
    ),
    "runs.md": (with_measured("logging", "logs"),),
    "scale.md": (with_measured("scale", "scale"),),
    "scenarios.md": (with_library, with_measured("scenarios", "scenarios")),
    "speed.md": (with_measured("speed", "measure"), with_study("speed", physics_reach)),
    "teachers.md": (with_options,),
    "training.md": (
        with_study("training", training_report),
        with_study("efficiency", sample_efficiency),
        with_measured("learning", "learning"),
    ),
    "wordcraft.md": (with_measured("wordcraft", "word_craft"),),
}
"""Page -> what writes the stored results into it."""


def main() -> None:
    """Write every page and the README's table."""
    README.write_text(readme(README.read_text("utf-8")), encoding="utf-8")
    FOLDER.mkdir(exist_ok=True)
    for name in registry.list_worlds():
        if not registry.world_spec(name).world.startswith("piase_gym."):
            continue
        try:
            text = page(name)
        except MissingExtraError:
            continue  # the page stays as it is
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    for name, writers in WRITERS.items():
        path = FOLDER.with_name(name)
        text = path.read_text("utf-8")
        for write in writers:
            text = write(text)
        path.write_text(text, encoding="utf-8")
    FOLDER.with_name("transcripts.md").write_text(beside("transcripts").page(), encoding="utf-8")
    FOLDER.with_name("file_fields.md").write_text(formats(), encoding="utf-8")
    write_teachers(FOLDER.with_name("evidence_teachers.md"))


if __name__ == "__main__":
    main()
