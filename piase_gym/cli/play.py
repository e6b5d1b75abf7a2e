"""``piase play``: a person as one agent, in the terminal."""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import typer

from piase_gym.cli.console import console, errors, waiting
from piase_gym.cli.options import AnyName, KeyEnv, Modules, Settings, complete_policies
from piase_gym.cli.scenarios import prompt_models, tell_usage
from piase_gym.errors import ConfigError
from piase_gym.names import look_up
from piase_gym.play.settings import read_partners, read_settings
from piase_gym.registry import find, list_tasks, list_worlds, make_config

SIZE = re.compile(r"-\d+x\d+|-(Easy|Medium|Hard)\b")
"""The part of an id in which ids of one kind differ."""


def play(
    name: AnyName,
    config: Settings = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of level 1.")] = 1,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="The agent you play; default the first.")
    ] = None,
    partners: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY|AGENT=POLICY",
            help="Who plays the other agents: random, oracle, noop, sb3:PATH, ppo:PATH, "
            "llm:MODEL@URL or another policy, for all or for one; may be repeated. Default: the "
            "id's own partners.",
            autocompletion=complete_policies,
        ),
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Play by the text alone, as a language model does.")
    ] = False,
    tour: Annotated[
        bool | None,
        typer.Option(
            "--tour/--no-tour",
            help="Let every level be another id of the world. Default: if only a world is named.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a PiaAVT log (.jsonl) of all levels; no tour."),
    ] = None,
    key_env: KeyEnv = None,
    module: Modules = None,
) -> None:
    """Play a world yourself: by keys in a terminal, else by lines from standard input."""
    from piase_gym.cli.game.loops import KeyLoop, LineLoop, can_read_keys
    from piase_gym.envs.single import GymEnv
    from piase_gym.play.session import Game, farewell
    from piase_gym.runs.recording import record

    named = look_up(name)
    scenario = named.scenario
    if scenario is not None:
        name = named.spec.name
    if tour is None:
        tour = name in list_worlds() and not (config or agent or partners or scenario or log)
    if tour and log is not None:
        raise ConfigError("a log is of one world; give --log or --tour, not both")
    seats = read_partners(name, partners)

    def make(task: str) -> GymEnv:
        base = None if scenario is None else scenario.fields
        fields = {**read_settings(task, config, base), "scenario": scenario}
        return GymEnv(task, agent=agent, view="text", actions="text", partners=seats, **fields)

    with waiting(f"opening {name}", errors):
        game = Game(make, route(name) if tour else (name,), seed)
        if log is not None:
            record(game.env, log)  # closing the world completes it
        game.start(1)
    loop = KeyLoop if can_read_keys() else LineLoop
    code = 0
    try:
        loop(game, console, blind).run()
    except KeyboardInterrupt:
        code = 130
    finally:
        game.close()
    console.print(farewell(game))
    tell_usage(prompt_models(game.env.runner.partners.values(), None, None))
    raise typer.Exit(code)


def route(name: str) -> tuple[str, ...]:
    """Return all ids of a world: one per kind, those for few agents first, then the next sizes."""

    def length(task: str) -> tuple[int, int, str]:
        named = look_up(task)
        config = make_config(named.spec, named.fields)
        return config.agents, config.max_steps, task

    kinds: dict[str, list[str]] = {}
    for task in sorted(list_tasks(find(name)[0].name), key=length):
        kinds.setdefault(SIZE.sub("", task), []).append(task)
    rounds = zip_longest(*kinds.values())
    return tuple(task for some in rounds for task in some if task is not None) or (name,)
