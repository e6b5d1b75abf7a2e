"""``piase run`` and ``piase scenario lint|list|schema|new``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.markup import escape
from rich.table import Table

from piase_gym.agents.policy_registry import check_policy
from piase_gym.cli.console import console, errors
from piase_gym.cli.options import (
    Completions,
    Modules,
    complete_policies,
    import_modules,
    split_seat,
)
from piase_gym.core.files import require_folder
from piase_gym.errors import ConfigError, ScenarioError

if TYPE_CHECKING:
    from piase_gym.simulation.simulation import Simulation, Summary

TEMPLATE = """\
scenario_name: "{title}"
environment_type: "TextRoom"
version: "1.0"
description: "Find the coin."

initial_state:
  rooms:
    hall:
      description: "an empty hall."
      exits: {{ east: "kitchen" }}
      objects: ["cupboard"]
    kitchen:
      description: "a small kitchen."
      exits: {{ west: "hall" }}
      objects: ["jar"]
  object_details:
    cupboard:
      description: "a cupboard with a lock."
      locked: true
      key_required: "small_key"
      contains: ["coin"]
    jar: {{ description: "a jar of flour.", hidden_item: "small_key" }}
    coin: {{ description: "a gold coin.", can_be_taken: true }}
  agent_setup:
    agent_id: "agent_0"
    start_room: "hall"

win_conditions:
  - {{ type: "item_in_inventory", item_name: "coin" }}

lose_conditions:
  - {{ type: "max_steps_reached", steps: 50 }}

events:
  - trigger: {{ type: "item_found", item_name: "small_key" }}
    response: {{ type: "log_milestone", milestone_name: "key_found" }}
"""

scenario = typer.Typer(no_args_is_help=True, help="Check, list, describe and begin scenarios.")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(run)
    scenario.command()(lint)
    scenario.command("list")(list_scenarios)
    scenario.command()(schema)
    scenario.command()(new)
    app.add_typer(scenario, name="scenario")


def complete_scenarios(incomplete: str) -> Completions:
    """Complete the names of the library."""
    from piase_gym import scenarios

    return [(name, "") for name in scenarios.names() if name.startswith(incomplete)]


# -- piase run ------------------------------------------------------------------------------


def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A scenario of the library, a file, or a world or id.",
            autocompletion=complete_scenarios,
        ),
    ],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY|AGENT=POLICY",
            help="Who plays: random, oracle, noop, human or another policy, for all or for one; "
            "may be repeated. Default: random.",
            autocompletion=complete_policies,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the first episode.")] = 0,
    episodes: Annotated[int, typer.Option(metavar="N", min=1, help="How many episodes.")] = 1,
    render: Annotated[
        str | None, typer.Option(metavar="ansi|text", help="Show the world, or what agents read.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a PiaAVT log (.jsonl).")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save final states and summaries.")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A budget of steps an episode.")
    ] = None,
    time_model: Annotated[
        str | None, typer.Option(metavar="discrete_steps|real_time_ms", help="Who waits for whom.")
    ] = None,
    module: Modules = None,
) -> None:
    """Run a scenario with agents and print the summary."""
    from piase_gym import scenarios
    from piase_gym.simulation.simulation import Simulation

    import_modules(module)
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
        folder=save,
        wrap=() if log is None else (_logger(log),),
    )
    own = simulation.scenario if name not in scenarios.names() else None
    for warning in own.warnings if own is not None else ():
        errors.print(f"[yellow]warning:[/] {escape(warning)}", soft_wrap=True)
    with simulation, _Progress(episodes) as progress:
        for _ in range(episodes):
            progress.add(_episode(simulation, render))
    progress.sum_up()
    if progress.interrupted:
        raise typer.Exit(130)


class _Progress:
    """What came of the episodes so far: on a terminal below the output, at the end as its sum.

    An interrupt from the keyboard leaves the ``with`` block; the episode that it breaks off does
    not count.
    """

    def __init__(self, episodes: int) -> None:
        """Begin with nothing; a single episode has nothing to be summed up."""
        self.episodes = episodes
        self.interrupted = False
        self._found: list[Summary] = []
        self._line = console.status("", spinner="line")
        self._live = episodes > 1 and console.is_terminal

    def __enter__(self) -> Self:
        """Show the first line."""
        if self._live:
            self._line.start()
            self._line.update(self._words())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        """Take the line away; an interrupt is not an error."""
        self._line.stop()
        self.interrupted |= kind is KeyboardInterrupt
        return kind is KeyboardInterrupt

    def add(self, summary: Summary) -> None:
        """Print what came of an episode, and count it.

        Raises:
            KeyboardInterrupt: If it was interrupted.
        """
        console.print(escape(str(summary)), soft_wrap=True)
        if summary.stopped == "interrupted":
            raise KeyboardInterrupt
        self._found.append(summary)
        self._line.update(self._words())

    def _words(self) -> str:
        """Return the line that is shown while episodes are played."""
        count = len(self._found)
        told = f"episode {count + 1} of {self.episodes}"
        if not count:
            return told
        won = sum(summary.won for summary in self._found)
        steps = sum(summary.steps for summary in self._found) / count
        return f"{told}: {won} of {count} won, mean length {steps:.1f}"

    def sum_up(self) -> None:
        """Print the sum of several episodes."""
        if self.episodes == 1 and not self.interrupted:
            return
        count, said = len(self._found), ""
        if self.interrupted:
            said = f"interrupted in episode {count + 1} of {self.episodes}: "
        won = sum(summary.won for summary in self._found)
        console.print(f"{said}{won} of {count} episodes won", soft_wrap=True)
        if not count:
            return
        steps = [summary.steps for summary in self._found]
        told = f"mean length {sum(steps) / count:.1f} steps ({min(steps)} to {max(steps)})"
        console.print(f"  {told}", soft_wrap=True)
        for name in self._found[0].returns:
            returns = [summary.returns[name] for summary in self._found]
            mine = sum(summary.results.get(name) == "won" for summary in self._found)
            told = f"mean return {sum(returns) / count:g} ({min(returns):g} to {max(returns):g})"
            console.print(f"  {escape(name)}: won {mine}, {told}", soft_wrap=True)


def _episode(simulation: Simulation, render: str | None) -> Summary:
    """Run one episode, or what an interrupt leaves of it."""
    simulation.initialize()
    _show(simulation, render)
    while simulation.run_simulation(1).stopped == "running":
        _show(simulation, render)
    _show(simulation, render)
    return simulation.finish()


def _show(simulation: Any, render: str | None) -> None:
    """Print the state, or what each agent reads."""
    world = simulation.world
    if render == "ansi":
        console.print(escape(world.ansi()) + "\n")
    elif render == "text":
        for number, name in enumerate(world.agents):
            if name in simulation.agents:
                console.print(escape(world.text(world.facts(number))) + "\n")


def read_agents(given: list[str] | None) -> dict[str, str] | str | None:
    """Return who plays which seat.

    Raises:
        ConfigError: If a policy for all is given twice, or beside an agent given twice.
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


def _logger(path: Path) -> Any:
    """Return a wrapper that writes a log."""
    from piase_gym.wrappers import AvtLogger

    return lambda env: AvtLogger(env, path)


# -- piase scenario -------------------------------------------------------------------------


def lint(
    files: Annotated[list[str], typer.Argument(metavar="SCENARIO...", help="Names or files.")],
    strict: Annotated[bool, typer.Option("--strict", help="Take warnings for errors.")] = False,
) -> None:
    """Check scenarios: file:line:column: key: what is wrong, what is allowed."""
    from piase_gym import scenarios

    wrong = 0
    for name in files:
        try:
            found = scenarios.load(name)
        except ScenarioError as error:
            wrong += 1
            console.print(f"[red]{escape(str(error))}[/]", soft_wrap=True)
            continue
        for warning in found.warnings:
            console.print(f"[yellow]{escape(warning)} (warning)[/]", soft_wrap=True)
        wrong += strict and bool(found.warnings)
        if not found.warnings:
            console.print(f"{escape(name)}: {escape(found.title)}, a scenario of {found.world}: ok")
    if wrong:
        raise typer.Exit(1)


def list_scenarios() -> None:
    """List the scenarios that ship."""
    from piase_gym import scenarios

    table = Table("name", "world", "agents", "what it is about")
    for name in scenarios.names():
        found = scenarios.load(name)
        count = str(len(found.agents) or found.config.agents)
        table.add_row(name, found.world, count, escape(found.head.description or found.title))
    console.print(table)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from piase_gym import scenarios

    typer.echo(json.dumps(scenarios.json_schema(), indent=2))


def new(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A .yaml file that is not there.")],
) -> None:
    """Begin a scenario: write a small one that can be played, to be changed."""
    if path.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"a new scenario is a .yaml file, not {str(path)!r}")
    if path.exists():
        raise ConfigError(f"{str(path)!r} is there already; give another name")
    title = path.stem.replace("_", " ").replace('"', "").title()
    try:
        path.write_text(TEMPLATE.format(title=title), "utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {str(path)!r}: {error.strerror}") from None
    console.print(f"wrote {path}; try: piase run {path} --agent oracle")
