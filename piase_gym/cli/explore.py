"""``piase explore``: a team of explorers, with the map that they draw."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from piase_gym.agents.policy_registry import check_policy
from piase_gym.cli.console import console, say
from piase_gym.cli.options import (
    KeyEnv,
    LogFile,
    Modules,
    Prompt,
    Settings,
    Tokens,
    complete_policies,
    complete_worlds,
)
from piase_gym.cli.scenarios import prompt_models, tell_usage
from piase_gym.core.answers import plain
from piase_gym.errors import ConfigError
from piase_gym.play.settings import read_settings, split_seat

if TYPE_CHECKING:
    from piase_gym.simulation.exploration import AnyDecider, Exploration

MESSAGES = 5
"""How many of the last messages are shown, if they fit."""
STYLES = {"#": "bright_black", ".": "bright_black", "o": "yellow", "O": "yellow", "*": "bold green"}


def explore(
    place: Annotated[
        str,
        typer.Argument(
            metavar="[WORLD|ID|SCENARIO]",
            help="Where; another world than ObjectSearch has no backend.",
            autocompletion=complete_worlds,
        ),
    ] = "ObjectSearch",
    agents: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many; 2 in ObjectSearch.")
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(metavar="mock|house|camera", help="A line, a house, or pictures of it."),
    ] = None,
    decide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="rules|llm|[AGENT=]POLICY",
            help="Who decides: rules, the language model of --model, or any policy, for all or for "
            "one; may be repeated. Default: rules.",
            autocompletion=complete_policies,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The language model of --decide llm.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Its endpoint; default OpenAI's.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the episode.")] = 0,
    steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="When explorers stop at the latest.")
    ] = None,
    log: LogFile = None,
    prompt: Prompt = None,
    tokens: Tokens = None,
    pause: Annotated[
        float, typer.Option(metavar="S", min=0.0, help="Seconds between two pictures.")
    ] = 0.1,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Only print what came of it.")
    ] = False,
    config: Settings = None,
    key_env: KeyEnv = None,
    module: Modules = None,
) -> None:
    """Explore a place with a team, and watch the map that it draws."""
    from piase_gym.simulation.exploration import Exploration

    fields = read_settings(place, config)
    usual = {"agents": agents or (2 if place == "ObjectSearch" else None), "backend": backend}
    for name, value in usual.items():
        if value is not None and name in fields and (name != "agents" or agents is not None):
            raise ConfigError(f"--{name} and -c {name}=... say the same; give one of them")
        if value is not None:
            fields.setdefault(name, value)
    who = read_deciders(decide, model, base_url)
    team = Exploration(place, who, seed=seed, steps=steps, log=log, **fields)
    models = prompt_models(team.agents.values(), prompt, tokens)
    try:
        _explore(team, pause, live=console.is_terminal and not quiet)
    except KeyboardInterrupt:
        say("interrupted", "yellow")
        raise typer.Exit(130) from None
    finally:
        team.close()
        tell_usage(models)


def read_deciders(
    given: list[str] | None, model: str | None, base_url: str | None
) -> dict[str, AnyDecider]:
    """Return who decides for each agent, ``"*"`` for those that are not named.

    Raises:
        ConfigError: If ``llm`` has no model, a model has no ``llm``, or a seat is given twice.
        UnknownNameError: If there is no such policy.
    """
    found: dict[str, AnyDecider] = {}
    for word in given or ["rules"]:
        seat, policy = split_seat(word)
        if (seat or "*") in found:
            raise ConfigError(f"--decide is given twice for the same: {', '.join(given or ())}")
        if policy == "llm":
            if model is None:
                raise ConfigError(
                    "--decide llm asks the language model that --model names, such as --model "
                    "qwen3 --base-url http://127.0.0.1:8000/v1"
                )
            policy = f"llm:{model}" + (f"@{base_url}" if base_url else "")
        if policy != "rules":
            check_policy(policy, files=True)
        found[seat or "*"] = policy
    if (model or base_url) and "llm" not in (split_seat(word)[1] for word in given or ()):
        raise ConfigError("--model and --base-url are for --decide llm")
    return found


# -- what is shown ------------------------------------------------------------------------


def _explore(team: Exploration, pause: float, live: bool) -> None:
    """Explore to the end, with a picture of each step if that is wanted, and print the findings."""
    team.initialize()
    if live:
        with Live(picture(team), console=console, auto_refresh=False) as shown:
            while team.step():
                shown.update(picture(team), refresh=True)
                time.sleep(pause)
            shown.update(picture(team), refresh=True)
    else:
        while team.step():
            pass
    console.print(Text(str(team.findings())))


def picture(team: Exploration) -> RenderableType:
    """Return what the team has seen, where it is, what it has found, and what was said last."""
    env, memory = team.env, team.shared_memory
    title = f"{env.world.name}, step {env.time_step}, seed {env.seed}"
    drawn, objects = team.map.lines, list(team.map.objects)
    count, names = _line(f"objects seen: {len(objects)}"), Text(plain(", ".join(objects)), "green")
    beside = [*_agents(team), Text(), count, names]
    chart = Text("\n").join(_coloured(line) for line in drawn)
    chart.no_wrap, chart.overflow = True, "crop"
    table = Table.grid(padding=(0, 3))
    table.add_row(chart, Group(*beside))
    room = console.height - max(len(drawn), len(beside) + 2) - 4
    letters = memory["message_history"][-min(MESSAGES, max(1, room)) :]
    said = [_line(f"{x['sender']}: {x['message']}", "cyan") for x in letters]
    rows: list[RenderableType] = [Text(title, "bold"), table]
    if team.map.legend:
        rows.append(_line(team.map.legend, "bright_black"))
    return Group(*rows, Text(), *(said or [_line("no messages yet", "bright_black")]))


def _coloured(line: str) -> Text:
    """Return a row of the map in colours; an agent is an arrow and a number."""
    return Text.assemble(*((sign, STYLES.get(sign, "bold magenta")) for sign in line))


def _agents(team: Exploration) -> list[Text]:
    """Say where agents are and what they have decided, in two lines each."""
    rows = []
    for name, record in team.records.items():
        where = f"{name} at {_short(record['position'])}"
        done = record["action"] or ("no answer" if record["failure"] else "")
        rows.append(_line(f"{where}: {done}" if done else where, "bold"))
        if record["action_reason"]:
            rows.append(_line(f"  {record['action_reason']}"))
    return rows


def _short(position: Any) -> str:
    """Return a position in a few characters."""
    return ",".join(map(str, position)) if isinstance(position, list | tuple) else str(position)


def _line(words: str, style: str = "") -> Text:
    """Return words on one line: without markup or terminal codes, and cut where the line ends."""
    return Text(
        " ".join(plain(words).split()) if words.strip() else words,
        style,
        no_wrap=True,
        overflow="ellipsis",
    )
