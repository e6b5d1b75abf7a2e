"""A zoo of worlds: the probes of `tests.probes`, with one fault each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

import piase_gym
from piase_gym import WorldSpec
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.rng import Stream
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.world import Capabilities, DecodedAction, StepResult
from tests.probes import point_views, text_views
from tests.probes.point_config import PointProbeConfig
from tests.probes.point_probe import PRIMITIVES, PointProbe
from tests.probes.point_views import PointFacts
from tests.probes.text_config import TextProbeConfig
from tests.probes.text_probe import TextProbe
from tests.probes.text_views import TextFacts

CROWD: dict[str, Any] = {"agents": 2, "max_steps": 30, "noise": 0.2, "arrival": 0.3}
HOUSE: dict[str, Any] = {"agents": 2, "items": 6, "max_steps": 30, "slip": 0.3}


class OmitsAFact(PointProbe):
    """The text does not tell the velocity; the parser takes it for zero."""

    @staticmethod
    def to_text(facts: PointFacts, config: PointProbeConfig) -> str:
        return point_views.text_of(replace(facts, velocity=(0.0, 0.0)))


class SaysItTwice(PointProbe):
    """The text tells where the goal is, and from this one number two facts are read."""

    @staticmethod
    def to_text(facts: PointFacts, config: PointProbeConfig) -> str:
        return point_views.text_of(facts)

    def facts(self, agent: int) -> PointFacts:
        facts = super().facts(agent)
        return replace(facts, velocity=facts.goal)

    @staticmethod
    def parse(text: str, config: PointProbeConfig) -> PointFacts:
        facts = point_views.parse(text, config)
        return replace(facts, velocity=facts.goal)


class OwnText(PointProbe):
    """The text of an agent depends on the world at hand, so another process reads it otherwise."""

    texts: ClassVar[dict[str, PointFacts]] = {}

    @staticmethod
    def to_text(facts: PointFacts, config: PointProbeConfig) -> str:
        OwnText.texts[str(len(OwnText.texts))] = facts
        return point_views.text_of(facts)

    @staticmethod
    def parse(text: str, config: PointProbeConfig) -> PointFacts:
        facts = point_views.parse(text, config)
        return facts if OwnText.texts else replace(facts, velocity=(0.0, 0.0))


class ParserCrashes(PointProbe):
    """The parser raises what it likes."""

    @staticmethod
    def parse(text: str, config: PointProbeConfig) -> PointFacts:
        assert text.startswith("You are ")
        return point_views.parse(text, config)


class OtherVector(PointProbe):
    """The vectors that are shown are not rounded, those of the facts are."""

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        vectors = super().vectors(kept)
        for number, vector in enumerate(vectors):
            vector[:2] = self.points.position[number]
        return vectors


class VectorIsBlind(PointProbe):
    """The vector shows nothing but the others."""

    def vector(self, facts: PointFacts) -> NDArray[np.float32]:
        nowhere = (0.0, 0.0)
        seen = replace(facts, position=nowhere, velocity=nowhere, goal=nowhere, others=())
        return super().vector(seen)


class HintOnlyInText(PointProbe):
    """The vector knows nothing of hints."""

    def vector(self, facts: PointFacts) -> NDArray[np.float32]:
        return super().vector(replace(facts, hint=None))


class HintsOutliveResets(PointProbe):
    """Hints are never cleared."""

    def reset(self, seed: int) -> None:
        kept = list(self.hints)
        super().reset(seed)
        self.hints = kept


class LiveTexts(TextProbe):
    """What is kept for late texts is the world itself, so they tell of later steps."""

    def capture(self) -> Sequence[Any]:
        return list(range(len(self.agents)))

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        return [self.vector(self.facts(agent)) for agent in range(len(self.agents))]

    def text_writer(self) -> Callable[[Any, int], str]:
        return self._tell_now

    def _tell_now(self, _kept: Any, agent: int) -> str:
        return self.text(self.facts(agent))


class ForgetsItsDice(PointProbe):
    """Snapshots hold no random stream."""

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "dice": [0, 0]}


class LeavesThingsBehind(TextProbe):
    """A state restored into a world in mid-episode goes on with the dice of that world."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        streams, stepped = self.streams, self.house.t > 0
        super().set_state(state)
        if stepped:
            self.streams = streams


class NotJson(PointProbe):
    """Snapshots hold arrays."""

    def get_state(self) -> dict[str, Any]:
        points = super().get_state()
        return {**points, "extra": np.zeros(2)}


class TakesAnySnapshot(PointProbe):
    """A damaged state is half taken up before anybody notices."""

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.points.position[0] = [0.5, 0.5]
        super().set_state(state)


class DigestOfHashes(PointProbe):
    """The digest depends on PYTHONHASHSEED."""

    def digest_state(self) -> Any:
        return hash(repr(self.get_state()))


class DigestOfTheTime(PointProbe):
    """The digest hashes no more than the step."""

    def digest_state(self) -> Any:
        return self.points.t // 2


class ShortDigest(PointProbe):
    """The digest lacks a digit."""

    def digest(self) -> str:
        return super().digest()[1:]


class SilentlyIllegal(TextProbe):
    """Illegal commands come out as `ok`."""

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        result = super().advance(plans)
        kind = Outcome.ILLEGAL
        return result._replace(outcomes=[Outcome.OK if o is kind else o for o in result.outcomes])


class AdmitsTooMuch(TextProbe):
    """Taking what is not there is listed among the admissible commands, but judged illegal."""

    def admissible(self, agent: int) -> list[Command]:
        listed = super().admissible(agent)
        return [*listed, Command("take", {"item_name": "jewel"})] if listed else []

    def masks(self) -> Sequence[NDArray[np.int8]]:
        masks = super().masks()
        for agent, mask in enumerate(masks):
            mask[max(0, len(self.admissible(agent)) - 1) :] = 0
        return masks


class BitsAreOff(TextProbe):
    """The mask forbids the last legal command, which is accepted."""

    def masks(self) -> Sequence[NDArray[np.int8]]:
        masks = super().masks()
        for mask in masks:
            mask[max(0, int(mask.sum()) - 1)] = 0
        return masks


class NothingExplained(PointProbe):
    """Unreadable lines are not explained."""

    def step(self, acts: Sequence[Any]) -> StepResult:
        result = super().step(acts)._replace(notes={})
        self._last = acts, result
        return result


class RaisesAtLines(PointProbe):
    """An unreadable line is an error."""

    def read(self, agent: int, line: object) -> Command | InvalidAction:
        found = super().read(agent, line)
        if isinstance(found, InvalidAction):
            raise ValueError(found.message)
        return found


class LinesSayLess(PointProbe):
    """The line of a command leaves out the sign of a push."""

    def write(self, command: Command) -> str:
        return super().write(command).replace("-1", "1")


class NewSpaces(PointProbe):
    """Agents that a new config brings in see with another vector."""

    def vector(self, facts: PointFacts) -> NDArray[np.float32]:
        vector = super().vector(facts)
        return vector if self.config.max_steps > 5 and self.config.agents < 3 else vector[:-1]


class ConfiguresAtOnce(PointProbe):
    """A new config is taken when it is only asked about."""

    def check_config(self, config: PointProbeConfig) -> None:
        super().check_config(config)
        self.config = config.pinned(self.envelope)


class KnowsNoEnvelope(PointProbe):
    """A config that is too large is taken all the same."""

    def check_config(self, config: PointProbeConfig) -> None:
        pass


class NobodyComes(TextProbe):
    """Late joiners are announced and never let in."""

    def _let_in(self, notes: dict[int, dict[str, Any]]) -> None:
        pass


class ComesUnannounced(TextProbe):
    """Agents enter later, though `late_join` is not claimed."""

    capabilities: ClassVar[Capabilities] = Capabilities(native_text=True, messages=True)


class ClaimsMessages(PointProbe):
    """Messages are claimed, but there are no mailboxes."""

    capabilities: ClassVar[Capabilities] = Capabilities(continuous=True, messages=True)


class ClosesNothing(PointProbe):
    """A file stays open."""

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.file = os.open(os.devnull, os.O_RDONLY)


class PaintsInts(PointProbe):
    """Pictures are int64."""

    def rgb(self) -> NDArray[Any]:
        return super().rgb().astype(np.int64)


class PaintingMoves(PointProbe):
    """Drawing a picture draws from the dice."""

    def rgb(self) -> NDArray[np.uint8]:
        self.dice.bits()
        return super().rgb()


class LosesItsDice(PointProbe):
    """A pickled world has new dice."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "dice": Stream(1)}


class NeedsAReset(PointProbe):
    """Instructions tell of the first episode, and there is none before the first reset."""

    def instructions(self, agent: int) -> str:
        self.asked = getattr(self, "asked", 0)
        return super().instructions(agent) + f" There are {self.tries} tries."

    def begin(self, seed: int) -> None:
        super().begin(seed)
        if getattr(self, "_made", False):
            self.tries = 3
        self._made = True


class LateLosers(PointProbe):
    """Who runs out of steps has drawn."""

    def result(self, agent: int) -> Any:
        result = super().result(agent)
        return result if result == "won" else "tied"


class NoEndOfSteps(PointProbe):
    """`max_steps` is one step late."""

    def advance(self, plans: Sequence[DecodedAction]) -> StepResult:
        self.points.t -= self.points.t == 1
        return super().advance(plans)


class SmallState(PointProbe):
    """The space of the state knows no goals."""

    @property
    def state_space(self) -> Box:
        return Box(-1.0, 1.0, super().state_space.shape, np.float64)


class NoRest(PointProbe):
    """The no-op is no command of the grammar."""

    @property
    def noop(self) -> Command:
        return Command("sleep")


class SharesItsMasks(PointProbe):
    """Masks are the same arrays at every step."""

    def masks(self) -> Sequence[NDArray[np.int8]]:
        if not hasattr(self, "_bits"):
            self._bits = np.ones((len(self.agents), len(PRIMITIVES)), np.int8)
        self._bits[...] = np.array(self.alive)[:, None]
        return list(self._bits)


class OrderMoves(PointProbe):
    """Saying in which order agents act draws from the dice."""

    def set_order(self, order: Sequence[int]) -> None:
        self.dice.uniform()


class ReadingMoves(PointProbe):
    """Checking a command that came as data draws from the dice."""

    def check(self, agent: int, command: Command) -> Command | InvalidAction:
        self.dice.uniform()
        return super().check(agent, command)


class PerceivesMore(PointProbe):
    """Agents perceive a mood that no schema tells of."""

    def surroundings(self, facts: PointFacts) -> Surroundings:
        around = super().surroundings(facts)
        return replace(around, perceptions={**around.perceptions, "mood": "calm"})


class SeesThePresent(PointProbe):
    """Surroundings tell where the agent is, not where it was when the facts were made."""

    def surroundings(self, facts: PointFacts) -> Surroundings:
        place = self.points.position[self.agents.index(facts.agent)]
        return replace(super().surroundings(facts), position=list(place))


class InstructsEverybody(PointProbe):
    """The instructions of an agent tell what the others were given as hints."""

    def instructions(self, agent: int) -> str:
        told = [hint for hint in self.hints if hint]
        return " ".join([super().instructions(agent), *told])


class PaysForSecrets(PointProbe):
    """What cannot be read costs less while another agent has a hint."""

    def step(self, acts: Sequence[Any]) -> StepResult:
        result = super().step(acts)
        extra = [
            outcome == "unparsable" and any(self.hints[:i] + self.hints[i + 1 :])
            for i, outcome in enumerate(result.outcomes)
        ]
        return result._replace(rewards=[r + e for r, e in zip(result.rewards, extra, strict=True)])


# world, its config, the check that finds it out, words of the sentence
SAME_GAME = "document_interfaces_are_the_same_game"
BROKEN: tuple[tuple[type[Any], dict[str, Any], str, tuple[str, ...]], ...] = (
    (OmitsAFact, CROWD, "text_reads_back", ("text and facts differ", "velocity")),
    (SaysItTwice, CROWD, "an_edit_changes_one_fact", ("changes 2 facts", "velocity", "goal")),
    (OwnText, CROWD, "text_reads_back_elsewhere", ("another process", "velocity")),
    (ParserCrashes, CROWD, "other_texts_are_refused", ("AssertionError", "no TextParseError")),
    (OtherVector, CROWD, "vector_is_that_of_the_facts", ("vector(facts)", "differ")),
    (VectorIsBlind, CROWD, "vector_tells_facts_apart", ("same vector", "other facts")),
    (HintOnlyInText, CROWD, "hints_are_in_both_views", ("in the text, but not in the vector",)),
    (HintsOutliveResets, CROWD, "hints_are_in_both_views", ("still there after the reset",)),
    (LiveTexts, HOUSE, "views_are_of_one_moment", ("read late", "another moment")),
    (ForgetsItsDice, CROWD, "restored_go_on_alike", ("new environment", "future is another")),
    (LeavesThingsBehind, HOUSE, "restored_go_on_alike", ("stepped environment", "another")),
    (NotJson, CROWD, "snapshots_are_json", ("cannot be written as JSON",)),
    (TakesAnySnapshot, CROWD, "damaged_snapshots_are_refused", ("refused, but changes the state",)),
    (DigestOfHashes, CROWD, "other_processes_agree", ("PYTHONHASHSEED", "digest")),
    (DigestOfTheTime, CROWD, "digests_tell_states_apart", ("another state", "earlier digest")),
    (ShortDigest, CROWD, "digests_tell_states_apart", ("not 16 hexadecimal digits",)),
    (SilentlyIllegal, HOUSE, "illegal_is_reported", ("illegal, but its outcome is 'ok'",)),
    (SilentlyIllegal, HOUSE, "masks_are_legality", ("has mask 0", "outcome 'ok'")),
    (AdmitsTooMuch, HOUSE, "admissible_are_the_allowed", ("jewel", "the mask forbids it")),
    (BitsAreOff, HOUSE, "masks_are_legality", ("has mask 0, but the outcome 'ok'",)),
    (NothingExplained, CROWD, "lines_are_answered", ("no feedback that explains",)),
    (RaisesAtLines, CROWD, "lines_are_answered", ("raises ValueError",)),
    (LinesSayLess, CROWD, "admissible_are_legal", ("thrust 1.0 0.0", "is read as", "not as")),
    (NewSpaces, CROWD, "reconfigured_spaces_stay", ("after reconfigure", "not in its space")),
    (ConfiguresAtOnce, CROWD, "reconfigured_spaces_stay", ("before the next reset",)),
    (KnowsNoEnvelope, CROWD, "envelopes_are_kept", ("does not fit", "takes it")),
    (NobodyComes, {**HOUSE, "join_at": (0, 2)}, "late_joiners_enter", ("agent_1", "never enter")),
    (ComesUnannounced, {**HOUSE, "join_at": (0, 2)}, "nobody_joins_unannounced",
     ("agent_1", "late_join is not claimed")),
    (ClaimsMessages, CROWD, "claims_are_true", ("messages=True is claimed", "no mailboxes")),
    (ClosesNothing, CROWD, "close_gives_back", ("after close", "open file")),
    (PaintsInts, CROWD, "pictures_are_what_they_say", ("int64, not uint8",)),
    (PaintingMoves, CROWD, "looking_changes_nothing", ("looking", "changes its future")),
    (LosesItsDice, CROWD, "copies_go_on_alike", ("goes on differently",)),
    (LosesItsDice, CROWD, "pickled_elsewhere_go_on_alike", ("another process", "another")),
    (NeedsAReset, CROWD, "prompts_need_no_reset", ("AttributeError", "tries")),
    (LateLosers, CROWD, "results_come_with_ends", ("has ended with the result 'tied'",)),
    (NoEndOfSteps, CROWD, "time_runs_out_for_all", ("max_steps=3",)),
    (SmallState, CROWD, "state_fits", ("state()", "not in its space")),
    (NoRest, CROWD, "noop_is_always_legal", ("no-op", "not in the grammar")),
    (SharesItsMasks, CROWD, "arrays_are_fresh", ("shares its memory", "action_mask")),
    (OrderMoves, CROWD, SAME_GAME, ("at step 1 WorldEnvironment", "another state")),
    (OrderMoves, CROWD, "base_env_is_the_same_game", ("at step 1 BaseEnv answers",)),
    (ReadingMoves, CROWD, "commands_wait_for_the_last", ("at step 0", "agent_0", "acts at once")),
    (PerceivesMore, CROWD, "perceptions_fit_their_schema", ("['mood']", "not in the schema")),
    (InstructsEverybody, CROWD, "secrets_are_kept", ("is told", "know: instructions")),
    (PaysForSecrets, CROWD, "secrets_are_kept", ("learns from doing", "reward")),
    (SeesThePresent, CROWD, "surroundings_follow_from_facts", ("step 0 change afterwards",)),
)  # fmt: skip


def register() -> None:
    """Make every world of the zoo known, by the name of its class."""
    for kind in dict.fromkeys(row[0] for row in BROKEN):
        views = "text" if issubclass(kind, TextProbe) else "point"
        parser = f"{kind.__module__}:{kind.__name__}.parse" if hasattr(kind, "parse") else ""
        folder = "tests.probes"
        config = TextProbeConfig if views == "text" else PointProbeConfig
        piase_gym.register_world(
            WorldSpec(
                name=kind.__name__,
                summary=str(kind.__doc__),
                world=f"{kind.__module__}:{kind.__name__}",
                config=f"{config.__module__}:{config.__name__}",
                parser=_parser(kind) if parser else f"{folder}.{views}_views:parse",
            )
        )


def _parser(kind: type[Any]) -> str:
    """Return the entry point of a world's own parser."""
    return f"{kind.__module__}:parse_{kind.__name__}"


parse_SaysItTwice = SaysItTwice.parse
parse_OwnText = OwnText.parse
parse_ParserCrashes = ParserCrashes.parse

__all__ = ["BROKEN", "TextFacts", "register", "text_views"]
