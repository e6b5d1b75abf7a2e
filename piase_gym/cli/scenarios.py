"""``piase run`` and ``piase scenario lint|list|run|schema|new``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from piase_gym.agents.policy_registry import check_policy
from piase_gym.cli.console import console, make_table, print_error, say
from piase_gym.cli.options import (
    KeyEnv,
    LogFile,
    Modules,
    Prompt,
    Tokens,
    complete_from,
    complete_policies,
    write_file,
)
from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.files import require_folder
from piase_gym.errors import ConfigError, ScenarioError
from piase_gym.play.settings import split_seat

if TYPE_CHECKING:
    from piase_gym.agents import Agent, LLMAgent
    from piase_gym.simulation.simulation import Simulation, Summary

TEMPLATE = files("piase_gym.scenarios").joinpath("template.yaml").read_text("utf-8")
"""What `piase scenario new` writes; ``TITLE`` stands for the title."""

scenario = typer.Typer(no_args_is_help=True, help="Check, list, begin, run and play scenarios.")


# -- piase run ------------------------------------------------------------------------------


def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A scenario of the library, a file, or a world or id.",
            autocompletion=complete_from("piase_gym.scenarios:names"),
        ),
    ],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY|AGENT=POLICY",
            help="Who plays: random, oracle, noop, human, llm:MODEL@URL or another policy, for all "
            "or for one; may be repeated. Default: random.",
            autocompletion=complete_policies,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the first episode.")] = 0,
    episodes: Annotated[int, typer.Option(metavar="N", min=1, help="How many episodes.")] = 1,
    render: Annotated[
        str | None, typer.Option(metavar="ansi|text", help="Show the world, or what agents read.")
    ] = None,
    log: LogFile = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save final states and summaries.")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A budget of steps an episode.")
    ] = None,
    time_model: Annotated[
        str | None,
        typer.Option(metavar="discrete_steps|real_time_ms|event_based", help="Who waits for whom."),
    ] = None,
    late: Annotated[
        str,
        typer.Option(metavar="queue|latest|drop", help="What becomes of late answers."),
    ] = "queue",
    prompt: Prompt = None,
    tokens: Tokens = None,
    key_env: KeyEnv = None,
    module: Modules = None,
) -> None:
    """Run a scenario with agents and print the summary."""
    from piase_gym.simulation.simulation import Simulation
    from piase_gym.wrappers import AvtLogger

    if save is not None:
        require_folder(save)
    if render not in (None, "ansi", "text"):
        raise ConfigError(f"unknown --render {render!r}; allowed: 'ansi', 'text'")
    simulation = Simulation(
        name,
        read_agents(agent),
        seed=seed,
        max_steps=max_steps,
        time_model=time_model,
        late=late,
        folder=save,
        wrap=() if log is None else (lambda env: AvtLogger(env, log),),
    )
    models = prompt_models(simulation.manager.agents.values(), prompt, tokens)
    _warn(simulation, name)
    found, broken = _play(simulation, episodes, render, models)
    if broken:  # the interrupted episode does not count
        _print_sum(found, f"interrupted in episode {len(found) + 1} of {episodes}: ")
        raise typer.Exit(130)
    if episodes > 1:
        _print_sum(found, "")
    tell_usage(models)


def _warn(simulation: Simulation, name: str) -> None:
    """Print the warnings of a scenario of the user's own."""
    from piase_gym import scenarios

    own = simulation.scenario if name not in scenarios.names() else None
    for warning in own.warnings if own is not None else ():
        print_error(warning, "warning", "yellow")


def _play(
    simulation: Simulation, episodes: int, render: str | None, models: Iterable[LLMAgent]
) -> tuple[list[Summary], bool]:
    """Play episodes and close; return their summaries, and whether an interrupt ended the play."""
    found: list[Summary] = []
    sound = list(models)
    live = console.status(_progress(found, episodes), spinner="line")
    try:
        with simulation, live if episodes > 1 else nullcontext():
            for _ in range(episodes):
                found.append(_episode(simulation, render, sound))
                live.update(_progress(found, episodes))
    except KeyboardInterrupt:
        return found, True
    return found, False


def tell_usage(models: Iterable[LLMAgent]) -> None:
    """Print the usage of language models, and why their last failed call failed."""
    for model in models:
        say(f"  {model.get_id()}, {model.policy}: {model.usage}")
        if model.last_failure is not None:
            say(f"    the last that failed: {model.last_failure.message}", "yellow")


def prompt_models(
    agents: Iterable[Agent], prompt: Path | None, tokens: int | None
) -> list[LLMAgent]:
    """Give the language models among agents their prompt and their budget, and return them.

    Members of populations count.

    Raises:
        ConfigError: If a prompt or a budget is given, but there is no language model.
    """
    from piase_gym.agents import LLMAgent
    from piase_gym.agents.llm import Budget
    from piase_gym.agents.llm.prompt import read_prompt

    players = [player for agent in agents for player in getattr(agent, "members", (agent,))]
    models = [player for player in players if isinstance(player, LLMAgent)]
    if not models and (prompt is not None or tokens is not None):
        raise ConfigError("--prompt and --tokens are for language models; none plays here")
    template = None if prompt is None else read_prompt(prompt)
    budget = Budget(tokens=tokens)
    for model in models:
        model.budget = budget
        if template is not None:
            model.take_template(template)
    return models


def _episode(simulation: Simulation, render: str | None, sound: list[LLMAgent]) -> Summary:
    """Run one episode, at most until an interrupt, and print its summary."""
    simulation.initialize()
    _show(simulation, render)
    while simulation.run_simulation(1).stopped == "running":
        _show(simulation, render)
        _warn_of_failures(sound)
    _show(simulation, render)
    summary = simulation.finish()
    say(summary)
    if summary.stopped == "interrupted":
        raise KeyboardInterrupt
    return summary


def _warn_of_failures(sound: list[LLMAgent]) -> None:
    """Print why a model's first call failed, and take the model out of those that are sound."""
    for model in tuple(sound):
        failure = model.last_failure
        if failure is None:
            continue
        sound.remove(model)
        text = f"{model.get_id()}, {model.policy}: {failure.message}"
        print_error(f"{text}; the run goes on, and Ctrl-C ends it", "warning", "yellow")


def _progress(found: list[Summary], episodes: int) -> str:
    """Return the line that is shown while episodes are played."""
    label, count = f"episode {len(found) + 1} of {episodes}", len(found)
    if not count:
        return label
    won = sum(summary.won for summary in found)
    steps = sum(summary.steps for summary in found) / count
    return f"{label}: {won} of {count} won, mean length {steps:.1f}"


def _print_sum(found: list[Summary], before: str) -> None:
    """Print a summary of several episodes."""
    count = len(found)
    say(f"{before}{sum(summary.won for summary in found)} of {count} episodes won")
    if not count:
        return
    steps = [summary.steps for summary in found]
    say(f"  mean length {sum(steps) / count:.1f} steps ({min(steps)} to {max(steps)})")
    for name in found[0].returns:
        returns = [summary.returns[name] for summary in found]
        won = sum(summary.results.get(name) == "won" for summary in found)
        mean = sum_in_order(returns) / count
        text = f"mean return {mean:g} ({min(returns):g} to {max(returns):g})"
        say(f"  {name}: won {won}, {text}")


def _show(simulation: Any, render: str | None) -> None:
    """Print the state, or what each agent reads."""
    world = simulation.world
    if render == "ansi":
        console.print(Text(world.ansi()) + "\n")
    elif render == "text":
        for number, name in enumerate(world.agents):
            if name in simulation.agents:
                console.print(Text(world.text(world.facts(number))) + "\n")


def read_agents(given: list[str] | None) -> dict[str, str] | str | None:
    """Return the policy of each seat.

    Raises:
        ConfigError: If a seat is given twice, or a policy for all together with one for an agent.
        UnknownNameError: If there is no such policy.
    """
    rows = [split_seat(entry) for entry in given or ()]
    common = [policy for seat, policy in rows if seat is None]
    named = {seat: policy for seat, policy in rows if seat is not None}
    if len(common) > 1 or len(named) + len(common) < len(rows):
        raise ConfigError(f"--agent is given twice for the same seat: {', '.join(given or ())}")
    for policy in (*common, *named.values()):
        check_policy(policy, files=True)
    if not named:
        return common[0] if common else None
    if common:
        raise ConfigError("give a policy for all, or one for each agent by name, not both")
    return named


# -- piase scenario -------------------------------------------------------------------------


@scenario.command()
def lint(
    files: Annotated[list[str], typer.Argument(metavar="SCENARIO...", help="Names or files.")],
    strict: Annotated[bool, typer.Option("--strict", help="Take warnings for errors.")] = False,
    module: Modules = None,
) -> None:
    """Check scenarios: file:line:column: key: what is wrong, what is allowed."""
    from piase_gym import scenarios

    wrong = 0
    for name in files:
        try:
            found = scenarios.load(name)
        except ScenarioError as error:
            wrong += 1
            say(error, "red")
            continue
        for warning in found.warnings:
            say(f"{warning} (warning)", "yellow")
        wrong += strict and bool(found.warnings)
        if not found.warnings:
            say(f"{name}: {found.title}, a scenario of {found.world}: ok")
    if wrong:
        raise typer.Exit(1)


@scenario.command("list")
def list_scenarios() -> None:
    """List the scenarios that ship."""
    from piase_gym import scenarios

    rows = []
    for name in scenarios.names():
        found = scenarios.load(name)
        count = str(len(found.agents) or found.config.agents)
        rows.append((name, found.world, count, found.head.description or found.title))
    console.print(make_table(("name", "world", "agents", "what it is about"), rows))


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from piase_gym import scenarios

    typer.echo(json.dumps(scenarios.json_schema(), indent=2))


@scenario.command()
def new(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A .yaml file that is not there.")],
) -> None:
    """Begin a scenario: write a small one that can be played, to be changed."""
    if path.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"a new scenario is a .yaml file, not {str(path)!r}")
    title = path.stem.replace("_", " ").replace('"', "").title()
    write_file(path, TEMPLATE.replace("TITLE", title))
    say(f"wrote {path}; try: piase run {path} --agent oracle")


scenario.command("run")(run)
