"""Each thing that the kit asks of a world is refused, in words, where it alone is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from piase_gym import testing
from piase_gym.core.commands import Command, InvalidAction, Outcome, Result
from piase_gym.core.events import Events
from piase_gym.core.world import Capabilities
from piase_gym.envs.actions import ActionDecoder
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import EnvelopeError
from piase_gym.testing.subject import Subject
from piase_gym.testing.world_actions import _sayable
from tests import probes
from tests.probes.point_probe import GRAMMAR, PRIMITIVES, PointProbe
from tests.probes.text_config import ITEMS
from tests.probes.text_probe import TextProbe, make_grammar
from tests.testing.faulty_worlds import CROWD, HOUSE

probes.register()

Change = Callable[..., Any]
COUNT = itertools.count()
POINT, TEXT = ("PointProbe", CROWD), ("TextProbe", HOUSE)
JOINING = ("TextProbe", {**HOUSE, "join_at": (0, 2)})


class Fault(NamedTuple):
    """What is wrong in one place, who finds it out, and in which words the sentence begins."""

    check: str
    words: str
    owner: Any
    name: str
    value: Any
    world: tuple[str, dict[str, Any]] = POINT


def then(owner: Any, name: str, change: Change) -> Change:
    """Return a method whose answer is changed by ``change(self, answer, *arguments)``."""
    original = getattr(owner, name)
    return lambda self, *given, **named: change(self, original(self, *given, **named), *given)


def later(fault: Fault) -> Any:
    """Return a fault as a case, named by its check."""
    return pytest.param(fault, id=f"{fault.check}: {fault.words[:30]}")


def finding(world: tuple[str, dict[str, Any]], check: str) -> testing.Finding:
    """Return what a check finds in a world."""
    name, config = world
    return testing.run_checks(name, checks=[check], **config).findings[0]


def rolls(self: Any, answer: Any, *_: Any) -> Any:
    """Draw from the dice of a world on the way, or of the world of an environment."""
    world = getattr(self, "world", self)
    world.dice.uniform()
    return answer


def coasts(self: Any, answer: Any, *_: Any) -> Any:
    return PRIMITIVES[-1]


def all_end(self: Any, result: Any, *_: Any) -> Any:
    return result._replace(terminated=[True] * 2, truncated=[True] * 2, ended=True)


def without_cost(self: Any, found: Any, *_: Any) -> Any:
    self.runner.steps = 0
    return found


def with_result(self: Any, found: Any, *_: Any) -> Any:
    for info in found[-1].values():
        info["result"] = Result.WON
    return found


def takes_anything(self: Any, agent: int, action: Any) -> Any:
    return 0 if not isinstance(action, int) or not 0 <= action < self.count else action


def rolls_before(owner: Any, name: str) -> Change:
    """Return a method that draws from the dice first."""
    original = getattr(owner, name)

    def method(self: Any, *given: Any, **named: Any) -> Any:
        getattr(self, "world", self).dice.uniform()
        return original(self, *given, **named)

    return method


ACTIONS = [
    Fault(
        "admissible_are_the_allowed",
        "at step 0 [Command(verb='coast', parameters={})] of agent_0 is allowed by the mask, but "
        "is not an admissible command",
        PointProbe,
        "admissible",
        then(PointProbe, "admissible", lambda self, listed, *_: listed[:-1]),
    ),
    Fault(
        "admissible_are_legal",
        "at step 0 the line 'coast' of agent_0 is admissible, but its outcome is 'illegal'",
        PointProbe,
        "legal",
        lambda self, agent, command: command.verb != "coast",
    ),
    Fault(
        "illegal_is_reported",
        "at step 0 'coast' of agent_0 is legal, but not accepted",
        PointProbe,
        "advance",
        then(
            PointProbe,
            "advance",
            lambda self, result, *_: result._replace(outcomes=[Outcome.ILLEGAL] * 2),
        ),
    ),
    Fault(
        "noop_is_always_legal",
        "at step 0 the no-op is not legal for agent_0",
        PointProbe,
        "legal",
        lambda self, agent, command: command.verb != "coast",
    ),
    Fault(
        "lines_are_answered",
        "the line '' has the outcome ok, not unparsable",
        PointProbe,
        "read_reply",
        coasts,
    ),
    Fault(
        "lines_are_answered",
        f"the line {'x' * 3000!r:.30} has the outcome unparsable, not too_long",
        PointProbe,
        "read_reply",
        lambda self, agent, line: InvalidAction(Outcome.UNPARSABLE, "What is that?"),
    ),
    Fault(
        "lines_are_answered",
        "the line '' does not cost a step",
        WorldParallelEnv,
        "step",
        then(WorldParallelEnv, "step", without_cost),
    ),
    Fault(
        "other_outcomes_are_kept",
        "a invalid action with 'timeout' comes out as 'unparsable'",
        PointProbe,
        "advance",
        then(
            PointProbe,
            "advance",
            lambda self, result, *_: result._replace(outcomes=[Outcome.UNPARSABLE] * 2),
        ),
    ),
    Fault(
        "other_outcomes_are_kept",
        "a invalid action with 'timeout' leaves no feedback",
        PointProbe,
        "step",
        then(PointProbe, "step", lambda self, result, *_: result._replace(notes={})),
    ),
    Fault(
        "index_and_line_agree",
        "at step 1 the lines {",
        PointProbe,
        "read_reply",
        coasts,
    ),
    Fault(
        "boxes_are_commands",
        "[",
        PointProbe,
        "command_from_box",
        lambda self, agent, action: Command("fly"),
    ),
    Fault(
        "prompts_need_no_reset",
        "the grammar has a verb twice: ['thrust', 'coast', 'thrust', 'coast']",
        PointProbe,
        "grammar",
        property(lambda self: GRAMMAR * 2),
    ),
    Fault(
        "prompts_need_no_reset",
        "the instructions of agent_0 do not tell of ['thrust']",
        PointProbe,
        "instructions",
        lambda self, agent: f"{self.agents[agent]} can coast",
    ),
    Fault(
        "prompts_need_no_reset",
        "the instructions of agent_1 do not name the agent",
        PointProbe,
        "instructions",
        lambda self, agent: "agent_0 can thrust and coast",
    ),
    Fault(
        "prompts_need_no_reset",
        "tools are not the verbs in order",
        PointProbe,
        "tools",
        then(PointProbe, "tools", lambda self, tools, *_: tools[::-1]),
    ),
    Fault(
        "prompts_need_no_reset",
        "tools cannot be written as JSON",
        PointProbe,
        "tools",
        then(PointProbe, "tools", lambda self, tools, *_: [{**t, "x": (1, 2)} for t in tools]),
    ),
    Fault(
        "prompts_need_no_reset",
        "the instructions of agent_0 are others after a reset",
        PointProbe,
        "tools",
        then(
            PointProbe,
            "tools",
            lambda self, tools, *_: [{**tool, "x": next(COUNT)} for tool in tools],
        ),
    ),
    Fault(
        "claims_are_true",
        "messages=False is claimed, but the world has mailboxes",
        TextProbe,
        "capabilities",
        Capabilities(late_join=True, native_text=True),
        TEXT,
    ),
    Fault(
        "claims_are_true",
        "snapshot is not claimed, but not refused with an UnsupportedError",
        PointProbe,
        "capabilities",
        Capabilities(continuous=True, snapshot=False),
    ),
]


@pytest.mark.parametrize("fault", [later(fault) for fault in ACTIONS])
def test_what_is_wrong_with_actions_is_told(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    requires(fault, monkeypatch)


def requires(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a fault into a sound world and hear of it."""
    assert finding(fault.world, fault.check).status in ("passed", "skipped")
    monkeypatch.setattr(fault.owner, fault.name, fault.value, raising=False)
    found = finding(fault.world, fault.check)
    assert found.verdict.startswith(f"failed: {fault.words}")


def test_an_index_that_is_none_is_refused_to_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    check = "bad_indices_change_nothing"
    monkeypatch.setattr(WorldParallelEnv, "_read", rolls_before(WorldParallelEnv, "_read"))
    told = finding(POINT, check).detail
    assert told == "the action -1 is refused, but has an effect"
    monkeypatch.undo()
    monkeypatch.setattr(ActionDecoder, "decode", takes_anything)
    assert finding(TEXT, check).detail == "the action -1 of agent_0 is no index, but is accepted"


def test_an_array_of_nan_is_refused_to_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    read = WorldParallelEnv._read
    as_told = "an array of NaN is refused, but has an effect"

    def strange(self: Any, actions: Any) -> Any:
        if any(np.isnan(np.asarray(action)).any() for action in actions.values()):
            self.world.dice.uniform()
        return read(self, actions)

    monkeypatch.setattr(WorldParallelEnv, "_read", strange)
    assert finding(POINT, "boxes_are_commands").detail == as_told

    def generous(self: Any, actions: Any) -> Any:
        return read(self, {name: np.nan_to_num(action) for name, action in actions.items()})

    monkeypatch.setattr(WorldParallelEnv, "_read", generous)
    told = finding(POINT, "boxes_are_commands").detail
    assert told == "an array of NaN is accepted as an action"


def test_lines_that_let_others_live_longer_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the digest does not show it."""
    monkeypatch.setattr(PointProbe, "read_reply", coasts)
    monkeypatch.setattr(PointProbe, "digest", lambda self: "0" * 16)
    told = finding(("PointProbe", {**CROWD, "arrival": 0.5}), "index_and_line_agree").detail
    assert told.startswith("at step ")
    assert told.endswith(" other agents are in play")


@pytest.mark.parametrize(
    ("world", "options"),
    [(POINT, {"wording": "native"}), (TEXT, {"actions": "continuous"})],
)
def test_what_is_not_claimed_is_refused(
    world: Any, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = Subject.env

    def generous(self: Any, **given: Any) -> Any:
        return env(self, **({} if given == options else given))

    monkeypatch.setattr(Subject, "env", generous)
    told = finding(world, "claims_are_true").detail
    assert told == f"{options} is not claimed, but not refused with a ConfigError"


def test_every_choice_of_a_verb_is_said() -> None:
    """Thrusts have no list of forces; `use` has an item, alone or on the door."""
    probe: Any = SimpleNamespace(grammar=make_grammar(ITEMS[:2]))
    said = [(c.verb, *c.parameters.values()) for c in _sayable(probe)]
    items = ITEMS[:2]
    used = [("use", item, *more) for item in items for more in ((), ("door",))]
    assert [entry for entry in said if entry[0] == "use"] == used
    assert [entry for entry in said if entry[0] == "take"] == [("take", item) for item in items]
    assert ("say",) not in said
    few = _sayable(probe, most=3)  # of each verb
    assert [c.parameters for c in few if c.verb == "use"] == [
        c.parameters for c in _sayable(probe) if c.verb == "use"
    ][:3]


LONG = ("PointProbe", {"agents": 2, "max_steps": 30, "noise": 0.2, "arrival": 0.001})


@pytest.mark.parametrize(
    ("check", "remark"),
    [
        ("masks_are_legality", "260 actions"),  # 2 seeds, 13 rows, 2 agents, 5 actions
        ("admissible_are_legal", "260 commands"),
        ("illegal_is_reported", "52 commands"),  # `coast` alone has no number in it
        ("index_and_line_agree", "30 steps"),
        ("text_reads_back", "124 texts"),  # 2 seeds, 31 rows, 2 agents
        ("text_reads_back_elsewhere", "62 texts"),
        ("vector_is_that_of_the_facts", "124 vectors"),
        ("commands_wait_for_the_last", "30 commands waited"),
    ],
)
def test_a_check_says_how_much_it_tried(check: str, remark: str) -> None:
    """Nobody arrives, and every episode has its thirty steps."""
    assert finding(LONG, check).verdict == f"passed: {remark}"


# -- ends, joining, configs and events -------------------------------------------------------------


def seedless(self: Any, info: Any, *_: Any) -> Any:
    return {key: value for key, value in info.items() if key != "seed"}


def said_less(self: Any, config: Any) -> None:
    if config.agents > len(self.agents):
        raise EnvelopeError("it is too large")


def keeps_its_limit(self: Any, config: Any) -> None:
    self.config = config.pinned(self.envelope).model_copy(
        update={"agents": self.config.agents, "max_steps": self.config.max_steps}
    )


def skips(kind: str) -> Change:
    """Return a `post` that keeps one kind of event to itself."""
    post = Events.post

    def method(self: Any, what: str, *given: Any, **data: Any) -> None:
        if what != kind:
            post(self, what, *given, **data)

    return method


def heard_moves(self: Any, acts: Any) -> Any:
    if self.events.wants_steps:
        self.world.dice.uniform()
    return RUNNER_STEP(self, acts)


RUNNER_STEP = EpisodeRunner.step
CONFIGS = [
    Fault(
        "results_come_with_ends",
        "at step 1 agent_0 has a result, but has not ended",
        WorldParallelEnv,
        "step",
        then(WorldParallelEnv, "step", with_result),
    ),
    Fault(
        "results_come_with_ends",
        "at step 1 agent_0 is terminated and truncated at once",
        PointProbe,
        "advance",
        then(PointProbe, "advance", all_end),
    ),
    Fault(
        "time_runs_out_for_all",
        "agent_0 ran out of steps and has lost, but its result is won",
        PointProbe,
        "result",
        lambda self, agent: Result.WON,
    ),
    Fault(
        "time_runs_out_for_all",
        "agent_0 ran out of steps and has won, but its result is lost",
        PointProbe,
        "wins_by_lasting",
        lambda self, agent: True,
    ),
    Fault(
        "late_joiners_enter",
        "agent_1 enters without its seed, or with a reward",
        WorldParallelEnv,
        "_first_info",
        then(WorldParallelEnv, "_first_info", seedless),
        JOINING,
    ),
    Fault(
        "reconfigured_spaces_stay",
        "reconfigure({'agents': 3}) has no effect: agents is 2",
        PointProbe,
        "take_config",
        keeps_its_limit,
    ),
    Fault(
        "envelopes_are_kept",
        "an EnvelopeError does not name the agents: it is too large",
        PointProbe,
        "check_config",
        said_less,
    ),
    Fault(
        "envelopes_are_kept",
        "a reconfigure that was refused has changed something",
        WorldParallelEnv,
        "reconfigure",
        rolls_before(WorldParallelEnv, "reconfigure"),
    ),
    Fault(
        "events_are_posted",
        "an environment with a listener goes on differently: at step 1, ",
        EpisodeRunner,
        "step",
        heard_moves,
    ),
    Fault("events_are_posted", "30 steps were taken, but 0 posted", Events, "post", skips("step")),
    Fault("events_are_posted", "no reset was posted", Events, "post", skips("reset")),
    Fault("events_are_posted", "no close was posted", Events, "post", skips("close")),
]


@pytest.mark.parametrize("fault", [later(fault) for fault in CONFIGS])
def test_what_is_wrong_with_episodes_is_told(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    requires(fault, monkeypatch)


def test_spaces_are_the_same_objects_after_reconfigure(monkeypatch: pytest.MonkeyPatch) -> None:
    check, again = "reconfigured_spaces_stay", WorldParallelEnv.observation_space
    monkeypatch.setattr(
        WorldParallelEnv,
        "state_space",
        property(lambda self: self.world.state_space),
    )
    told = finding(POINT, check).detail
    assert told == "the state space is another object after reconfigure"
    monkeypatch.undo()

    def other(self: Any, agent: str) -> Any:
        space: Any = again(self, agent)
        return space if self.world.config.agents == 2 else type(space)(dict(space.spaces))

    monkeypatch.setattr(WorldParallelEnv, "observation_space", other)
    told = finding(POINT, check).detail
    assert told == "observation_space('agent_0') is another object after reconfigure"
    monkeypatch.undo()
    state = PointProbe.state
    monkeypatch.setattr(PointProbe, "state", lambda self: state(self) * self.config.agents)
    monkeypatch.setattr(PointProbe, "digest_state", lambda self: state(self).tolist())
    told = finding(("PointProbe", {**CROWD, "agents": 1}), check).detail
    assert told == "after reconfigure state() is not in its space"


def test_who_runs_out_of_steps_is_counted() -> None:
    assert finding(POINT, "time_runs_out_for_all").verdict == "passed: 2 at once"
    at_once = ("PointProbe", {**CROWD, "agents": 1, "arrival": 2.0})
    told = finding(at_once, "time_runs_out_for_all").verdict
    assert told == "skipped: nobody ever ran out of 3 steps"


def test_entries_are_counted() -> None:
    """In each of four episodes one agent enters."""
    assert finding(JOINING, "late_joiners_enter").verdict == "passed: 4 entries"
    told = finding(TEXT, "late_joiners_enter").verdict
    assert told == "skipped: everybody is in play at the reset under this config"
    told = finding(JOINING, "nobody_joins_unannounced").verdict
    assert told == "skipped: late_join is claimed, and somebody may enter"


# -- seeds, snapshots, digests ---------------------------------------------------------------------


def one_seed(seeds: Any) -> Change:
    """Return a `_first_info` that tells these seeds one after the other."""

    def change(self: Any, info: Any, *_: Any) -> Any:
        return {**info, "seed": next(seeds)}

    return then(WorldParallelEnv, "_first_info", change)


def own_seed(self: Any, answer: Any, *_: Any) -> Any:
    return {**answer, "seed": 5}


def forgetful(self: Any, state: Any, *_: Any) -> Any:
    return {**state, "points": {**state["points"], "t": 0}}


def not_taken_up(self: Any, answer: Any, *_: Any) -> None:
    self.points.position[0][0] = 0.25


def other_base(self: Any, answer: Any, *_: Any) -> None:
    self.runner._base = 77


def unlike(self: Any) -> str:
    self.asked = getattr(self, "asked", 0) + 1
    return f"{self.asked:016x}"


STATES = [
    Fault(
        "seeds_are_told",
        "the infos of one reset tell the seeds {",
        WorldParallelEnv,
        "_first_info",
        one_seed(itertools.count()),
    ),
    Fault(
        "seeds_are_told",
        "reset(seed=0) tells the seed 5",
        WorldParallelEnv,
        "_first_info",
        then(WorldParallelEnv, "_first_info", own_seed),
    ),
    Fault(
        "seeds_are_told",
        "reset(seed=0) does not bring it back",
        PointProbe,
        "begin",
        then(
            PointProbe,
            "begin",
            lambda self, *_: self.points.position[0].__setitem__(0, np.random.random()),  # noqa: NPY002
        ),
    ),
    Fault(
        "snapshots_are_json",
        "restoring a snapshot gives another digest",
        PointProbe,
        "digest_state",
        lambda self: id(self),
    ),
    Fault(
        "snapshots_are_json",
        "an environment that took up a snapshot has another: state, points, position[0][0]: ",
        PointProbe,
        "set_state",
        then(PointProbe, "set_state", not_taken_up),
    ),
    Fault(
        "snapshots_keep_the_seeds",
        "resets after a restored snapshot differ: ",
        WorldParallelEnv,
        "restore",
        then(WorldParallelEnv, "restore", other_base),
    ),
    Fault(
        "damaged_snapshots_are_refused",
        "a damaged snapshot is taken up: {}",
        WorldParallelEnv,
        "restore",
        lambda self, snapshot: None,
    ),
    Fault(
        "digests_tell_states_apart",
        "the digest of one state changes from call to call",
        PointProbe,
        "digest",
        unlike,
    ),
    Fault(
        "digests_tell_states_apart",
        "the digest is 12345678, not 16 hexadecimal digits",
        PointProbe,
        "digest",
        lambda self: 12345678,
    ),
    Fault(
        "digests_tell_states_apart",
        "the digest is 'ffffffffffffffff0', not 16 hexadecimal digits",
        PointProbe,
        "digest",
        lambda self: "f" * 16 + "0",
    ),
]


@pytest.mark.parametrize("fault", [later(fault) for fault in STATES])
def test_what_is_wrong_with_states_is_told(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    requires(fault, monkeypatch)


def test_a_world_that_never_changes_has_one_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PointProbe, "digest", lambda self: "0" * 16)
    monkeypatch.setattr(PointProbe, "state", lambda self: np.zeros(1))
    told = finding(POINT, "digests_tell_states_apart").detail
    assert told == "the digest never changes"


def test_environments_that_were_never_seeded_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piase_gym.envs.runner.fresh_seed", lambda: 11)
    told = finding(POINT, "seeds_are_told").detail
    assert told == "environments that were never seeded start with the same seed"


def test_the_seed_that_is_told_is_that_of_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    info = WorldParallelEnv._first_info

    def other(self: Any, masks: Any, number: int) -> Any:
        found = info(self, masks, number)
        return {**found, "seed": found["seed"] if self.runner._episode == 0 else 5}

    monkeypatch.setattr(WorldParallelEnv, "_first_info", other)
    told = finding(POINT, "told_seeds_bring_back").detail
    assert told.startswith("reset(seed=5) gives another episode: at step 0, ")


def test_a_snapshot_has_one_future(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the environment that it is of."""
    restore, snapshot = WorldParallelEnv.restore, WorldParallelEnv.snapshot

    def marked(self: Any) -> Any:
        self.saved = True
        return snapshot(self)

    def differs(self: Any, given: Any) -> None:
        restore(self, given)
        if hasattr(self, "saved"):
            self.world.dice.uniform()

    monkeypatch.setattr(WorldParallelEnv, "snapshot", marked)
    monkeypatch.setattr(WorldParallelEnv, "restore", differs)
    told = finding(POINT, "restored_go_on_alike").detail
    assert told.startswith("restored into the same environment, the future is another: at step ")


def test_a_snapshot_has_the_same_future_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PointProbe, "get_state", then(PointProbe, "get_state", forgetful))
    told = finding(POINT, "restored_elsewhere_go_on_alike").detail
    assert told.startswith("restored in another process, the future is another: at step ")


STALE = [
    ("a step before the first reset", "ResetNeededError", "step", 1),
    ("a state before the first reset", "ResetNeededError", "state", 1),
    ("a step after the end", "ResetNeededError", "step", 2),
    ("an action for a strange agent", "AgentError", "step", 3),
    ("a reset after close", "ClosedError", "reset", 1),
    ("a state after close", "ClosedError", "state", 2),
]


@pytest.mark.parametrize(("what", "error", "name", "time"), STALE)
def test_calls_at_the_wrong_time_raise(
    what: str, error: str, name: str, time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th refusal of a method becomes an answer."""
    original, refusals = getattr(WorldParallelEnv, name), itertools.count(1)

    def lenient(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return original(self, *given, **named)
        except Exception:
            if next(refusals) != time:
                raise

    monkeypatch.setattr(WorldParallelEnv, name, lenient)
    told = finding(POINT, "order_of_calls_is_kept").detail
    assert told == f"{what} does not raise {error}"
