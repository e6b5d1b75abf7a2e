"""``piase bench``: play suites, measure throughput, write reports, renew references."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from piase_gym.cli.console import console, make_table, print_error, say
from piase_gym.cli.options import KeyEnv, Modules, Prompt, Ray, Tokens, search_working_directory
from piase_gym.cli.results import EpisodeBar, conclude, show_learned, show_results, tell, write
from piase_gym.core.files import require_folder
from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.jobs import choose_backend

if TYPE_CHECKING:
    from piase_gym.benchmarks.evaluation.suites import Problem, Suite

bench = typer.Typer(no_args_is_help=True, help="Play suites, measure, and report.")

Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of results, plots and reports.")]
Workers = Annotated[int, typer.Option(metavar="N", min=1, help="Processes.")]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="NAME[=POLICY]",
        help="A policy: a name, a model's path or module:attribute. Repeat for several; the "
        "same NAME= several times are runs of one method.",
    ),
]
Episodes = Annotated[
    int | None, typer.Option("--episodes", "-n", metavar="N", min=1, help="Seeds a task.")
]
DEFAULT_OUT = Path("bench")
SMOKE = ("random", "scripted", "oracle")
STANDARD = ("random", "noop", "scripted", "oracle", "ppo")


@bench.command()
def smoke(
    out: Out = DEFAULT_OUT,
    workers: Workers = 2,
    ray: Ray = None,
    episodes: Episodes = None,
    policy: Policies = None,
    key_env: KeyEnv = None,
    module: Modules = None,
) -> None:
    """Play every world that exists for a short while."""
    _run("smoke", out, (workers, ray), episodes, None, policy, SMOKE, module)


@bench.command()
def standard(
    out: Out = DEFAULT_OUT,
    workers: Workers = 2,
    ray: Ray = None,
    episodes: Episodes = None,
    policy: Policies = None,
    key_env: KeyEnv = None,
    module: Modules = None,
    split: Annotated[str, typer.Option(help="train, dev, held_out or new_levels.")] = "held_out",
    references: Annotated[
        bool,
        typer.Option("--references", help="Play nothing; show what is stored of learners."),
    ] = False,
) -> None:
    """Play the suite that papers report, on held-out seeds, scenarios and partners."""
    if references:
        show_learned()
        return
    _run("standard", out, (workers, ray), episodes, split, policy, STANDARD, module)


@bench.command()
def suite(
    suite: Annotated[str, typer.Argument(help="A suite, a task, or a manifest's path.")],
    out: Out = DEFAULT_OUT,
    workers: Workers = 2,
    ray: Ray = None,
    episodes: Episodes = None,
    policy: Policies = None,
    key_env: KeyEnv = None,
    module: Modules = None,
    split: Annotated[str | None, typer.Option(help="train, dev, held_out or new_levels.")] = None,
) -> None:
    """Play any suite, task or manifest."""
    _run(suite, out, (workers, ray), episodes, split, policy, STANDARD, module)


@bench.command("llm")
def language_model(
    model: Annotated[str, typer.Option(metavar="NAME", help="The model's name.")],
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Its endpoint; default OpenAI's.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="ID", help="A task, or a suite; may be repeated."),
    ] = None,
    out: Out = DEFAULT_OUT,
    episodes: Annotated[
        int, typer.Option("--episodes", "-n", metavar="N", min=1, help="Seeds a task.")
    ] = 5,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each episode.")] = 3,
    split: Annotated[str, typer.Option(help="train, dev, held_out or new_levels.")] = "held_out",
    temperature: Annotated[float, typer.Option(min=0.0, help="How freely it draws.")] = 0.0,
    answer: Annotated[str, typer.Option(metavar="line|yaml|json|tools")] = "line",
    history: Annotated[str, typer.Option(metavar="full|last:K|summary:K")] = "last:8",
    prompt: Prompt = None,
    commands: Annotated[
        bool, typer.Option("--commands/--no-commands", help="Whether commands are listed.")
    ] = True,
    answer_tokens: Annotated[
        int, typer.Option(metavar="N", min=1, help="Most tokens of an answer.")
    ] = 512,
    tokens: Tokens = None,
    cost: Annotated[
        float | None, typer.Option(metavar="X", min=0.0, help="Highest cost, by --price.")
    ] = None,
    price: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="IN OUT", help="Of a million tokens asked, and answered."),
    ] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Episodes at once.")] = 16,
    timeout: Annotated[float, typer.Option(metavar="S", min=0.01, help="Seconds a call.")] = 60.0,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY", help="Who is compared; default random, scripted and oracle."
        ),
    ] = None,
    workers: Workers = 1,
    ray: Ray = None,
    key_env: KeyEnv = None,
    module: Modules = None,
) -> None:
    """Play tasks with a language model, and report scores, costs and transcripts."""
    from piase_gym.agents import LLMAgent
    from piase_gym.agents.llm import Budget
    from piase_gym.agents.llm.prompt import TEMPLATE, read_prompt
    from piase_gym.benchmarks.evaluation.language_models import BESIDE, TASKS, evaluate_model

    agent = LLMAgent(
        model,
        base_url,
        prompt=TEMPLATE if prompt is None else read_prompt(prompt),
        answer=answer,
        history=history,
        commands=commands,
        temperature=temperature,
        max_tokens=answer_tokens,
        timeout=timeout,
        budget=Budget(tokens, cost, prices=price),
    )
    with EpisodeBar() as bar:
        results = evaluate_model(
            agent,
            (TASKS if not task else task[0] if len(task) == 1 else tuple(task)),
            out=out,
            repeats=repeats,
            episodes=episodes,
            split=split,
            concurrency=concurrency,
            beside=beside or BESIDE,
            progress=bar.show,
            workers=workers,
            ray=ray,
            modules=tuple(module or ()),
        )
    show_results(results)
    console.print(f"prompt {agent.prompt.id}; {agent.budget.usage}", soft_wrap=True)
    write(out)
    conclude(results)


@bench.command()
def throughput(
    out: Out = DEFAULT_OUT,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each row.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.01, help="CPU-seconds of each.")] = 0.2,
) -> None:
    """Measure speed beside the peers that are installed, and as sizes grow."""
    from piase_gym.benchmarks.speed.scaling import store_throughput
    from piase_gym.benchmarks.speed.scaling import throughput as measure_all

    require_folder(out)
    with console.status("measuring; every row in turn"):
        found = measure_all(rounds=rounds, seconds=seconds)
    rates = {row["name"]: row["rate"] for row in found["environments"]}
    base = next(iter(rates.values()))
    rows = [(name, f"{rate:,.0f}", f"{rate / base:.3g}") for name, rate in rates.items()]
    columns = ("environment", "rate", "ratio to the first")
    title = "Agent-steps per CPU-second, medians of one run"
    console.print(make_table(columns, rows, title, columns[1:]))
    console.print(f"not installed: {', '.join(found['missing']) or 'nothing'}")
    for name, why in found["failed"].items():
        say(f"{name} failed: {why}", "yellow")
    store_throughput(found, out)
    write(out)


@bench.command()
def report(out: Out = DEFAULT_OUT) -> None:
    """Write the report anew from the stored results."""
    write(out)


@bench.command()
def references(
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; default: the package's.")
    ] = None,
    workers: Workers = 2,
    ray: Ray = None,
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=2, help="Seeds a task.")] = 100,
    policy: Policies = None,
    journal: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep episodes here, to resume.")
    ] = None,
    module: Modules = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="PATTERN", help="Only these tasks; the others are kept."),
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Train the PPO models first.")] = False,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing", help="Only what the file and the models' folder do not have yet."
        ),
    ] = False,
) -> None:
    """Play the reference policies and write references.json anew."""
    from piase_gym.benchmarks.references import measure
    from piase_gym.benchmarks.references.references import FILE, read_references

    target = Path(measure.__file__).with_name(FILE) if out is None else out
    require_folder(target.parent)
    if target.is_dir():
        raise ConfigError(f"--out {target} is a folder; name the file to write")
    if journal is not None:
        require_folder(journal)
    stored = read_references(target) if missing and target.is_file() else None
    with contextlib.ExitStack() as stack:
        if ray is not None:  # one connection for all of it
            stack.enter_context(contextlib.closing(choose_backend(ray=ray)))
        if train:
            tell(_train(measure.reference_suite(None, task or ()), (workers, ray), missing))
        bar = stack.enter_context(EpisodeBar())
        found, problems = measure.measure_references(
            policies=read_choices(policy, ()),
            episodes=episodes,
            tasks=task or (),
            workers=workers,
            ray=ray,
            out=journal,
            modules=tuple(module or ()),
            progress=bar.show,
            stored=stored,
        )
    if (task or missing) and target.is_file():
        found = measure.merged(read_references(target), found)
    measure.write_references(target, found)
    say(f"{len(found['settings'])} tasks are in {target}")
    tell(problems)


@bench.command()
def learners(
    folder: Annotated[Path, typer.Argument(help="Where trainings are kept, and go on.")],
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of a task.")] = 5,
    workers: Workers = 1,
    ray: Ray = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="PATTERN", help="Only these ids.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--pass", metavar="NAME", help="Only these passes.")
    ] = None,
    store: Annotated[
        bool,
        typer.Option("--store", help="Train nothing; keep what is there in the package."),
    ] = False,
) -> None:
    """Train learners on every id, or store what they came to as references."""
    from piase_gym.benchmarks.references.learners import tasks, train_all
    from piase_gym.benchmarks.references.store import store_learners

    rows = tasks(task or ())
    if not rows:
        raise UnknownNameError("task", str(task), tasks())
    if store:
        for line in store_learners(folder, rows):
            console.print(line, soft_wrap=True)
        return

    def report(name: str, played: Mapping[str, Any]) -> None:
        steps, seconds = played["steps"], played["cpu_seconds"]
        line = f"{name}: {played['reason']} after {steps:,} steps, {seconds:.0f} CPU-seconds"
        console.print(line, soft_wrap=True)

    who: dict[str, Any] = {"seeds": seeds, "workers": workers, "ray": ray}
    tell(train_all(folder, rows, passes=only or (), report=report, **who))


def _train(suite: Suite, who: tuple[int, str | None], missing: bool) -> list[Problem]:
    """Train the PPO models of a suite's tasks, and print the result of each.

    With `missing`, only those that do not exist yet are trained.
    """
    from piase_gym.benchmarks.references.measure import settings_of
    from piase_gym.benchmarks.references.models import shipped_models
    from piase_gym.benchmarks.references.train import train_models

    def report(name: str, result: Any) -> None:
        seconds, won = result["cpu_seconds"], f"{result['dev']:.0%}"
        console.print(f"{name}: {won} of the dev seeds won, {seconds:.0f} CPU-seconds")

    models, settings = shipped_models()["ppo"], settings_of(suite)
    if missing:
        settings = [setting for setting in settings if not models.path(setting).exists()]
    return train_models(settings, models, workers=who[0], ray=who[1], report=report)


def read_choices(policies: Sequence[str] | None, usual: Sequence[str]) -> dict[str, Any]:
    """Return policies by name, each with its runs, from ``NAME`` and ``NAME=POLICY``.

    Modules of policies may be in the working directory.

    Raises:
        ConfigError: If a part is missing.
    """
    search_working_directory()
    found: dict[str, list[str]] = {}
    for given in policies or usual:
        name, equals, value = given.partition("=")
        if {":", "/"} & set(name):  # the "=" is part of a file's name
            name, equals, value = given, "", ""
        if not name or (equals and not value):
            raise ConfigError(f"--policy takes NAME or NAME=POLICY, not {given!r}")
        label = name if equals else Path(name).stem if name.endswith(".zip") else name
        found.setdefault(label, []).append(value or name)
    return dict(found)


def _run(
    name: str,
    out: Path,
    who: tuple[int, str | None],
    episodes: int | None,
    split: str | None,
    policy: Sequence[str] | None,
    usual: Sequence[str],
    module: Sequence[str] | None,
) -> None:
    """Evaluate, film, report, and end with an exit code.

    Args:
        name: The suite.
        out: The folder of results.
        who: Number of processes, and the Ray cluster that is used instead of them.
        episodes: Seeds per task.
        split: The split that the seeds are from.
        policy: The policies that play.
        usual: The policies that play if none is named.
        module: Modules to import first.
    """
    from piase_gym.benchmarks.evaluation.evaluate import evaluate
    from piase_gym.benchmarks.evaluation.report import make_films
    from piase_gym.benchmarks.evaluation.suites import read_suite

    suite, policies = read_suite(name), read_choices(policy, usual)
    with EpisodeBar() as bar:
        results = evaluate(
            policies,
            suite,
            episodes=episodes,
            split=split,
            workers=who[0],
            ray=who[1],
            out=out,
            modules=tuple(module or ()),
            progress=bar.show,
        )
    show_results(results)
    try:
        make_films(suite.settings(results.split)[0], policies, results, out)
        write(out)
    except OSError as error:
        print_error(error, "no report", "yellow")
    conclude(results)
