"""What became of an action and what is perceived then, in the data models of the documents.

The document interfaces show it, and logs of level ``full`` hold it; both get it from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from piase_gym.core.commands import Outcome
from piase_gym.core.jsonable import jsonable
from piase_gym.core.mailbox import Message as Letter
from piase_gym.core.models import ActionResult, Message, PerceptionData
from piase_gym.core.surroundings import Surroundings, Thing
from piase_gym.core.world import Facts, StepResult, World

MESSAGE_HISTORY = "message_history"
"""The entry of perceptions for messages that were heard before."""
OUTCOME_SENTENCES = {
    Outcome.OK: "Done.",
    Outcome.FAILED: "That was allowed, but had no effect.",
    Outcome.ILLEGAL: "That cannot be done now.",
    Outcome.UNPARSABLE: "That is no command of this world.",
    Outcome.TOO_LONG: "That command is too long.",
    Outcome.TIMEOUT: "No command came in time.",
    Outcome.REFUSED: "The command was refused.",
}
"""What is said about an outcome where the world itself says nothing."""


def changes_summary(
    agent: str, before: Surroundings, after: Surroundings, seen: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what an agent knows to have changed.

    Args:
        agent: Its name.
        before: Its surroundings before the step.
        after: The same after it.
        seen: The changes of objects that it saw; see `piase_gym.core.objects.seen_changes`.

    Returns:
        ``position``, ``rotation``, ``inventory`` and ``stats`` as they are now, if they have
        changed, and under ``objects`` every other change.
    """
    names = ("position", "rotation", "inventory", "stats")
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in names)
    found = {name: jsonable(new) for name, old, new in pairs if new != old}
    own = ("place", "heading", "inventory", *(after.stats or ()))
    objects = [x for x in seen if x["object"] != agent or x["property"] not in own]
    return {**found, "objects": objects} if objects else found


def action_result(
    world: World[Any, Any], agent: int, result: StepResult, steps: int, changed: Mapping[str, Any]
) -> ActionResult:
    """Put what became of an agent's command into the words of the documents.

    Args:
        world: The world, after the step.
        agent: The agent's number.
        result: What the step did.
        steps: Steps done in the episode.
        changed: What it knows to have changed; see `changes_summary`.
    """
    outcome, notes = result.outcomes[agent], result.notes.get(agent, {})
    last = world.last_steps()[agent]
    reason = notes.get("feedback") or (last and last.reason)
    message = str(reason or OUTCOME_SENTENCES[outcome])
    ends = {
        "terminated": bool(result.terminated[agent]),
        "truncated": bool(result.truncated[agent]),
    }
    details = {**notes, "outcome": outcome.value, **ends}
    if any(ends.values()):
        details["result"] = world.result(agent).value
    return ActionResult(
        status=outcome.status,
        timestamp=float(steps),
        message=message,
        state_changes_summary=dict(changed) or None,
        rewards_obtained={"reward": float(result.rewards[agent])},
        error_details=None if outcome is Outcome.OK else message,
        details=details,
    )


def simple_result(result: ActionResult | None) -> dict[str, Any] | None:
    """Return a result without what perceptions hold anyway."""
    if result is None:
        return None
    hidden = {"new_perception_snippet", "immediate_perception_snippet"}
    return result.model_dump(mode="json", exclude=hidden, exclude_none=True)


def perception(
    facts: Facts,
    surroundings: Surroundings,
    text: str,
    vector: NDArray[Any],
    steps: int,
    *,
    own: Mapping[str, Any],
    messages: Sequence[Message] = (),
    earlier: Sequence[Message] | None = None,
    inventory: Sequence[str] = (),
    result: Mapping[str, Any] | None = None,
) -> PerceptionData:
    """Return what an agent perceives.

    Args:
        facts: What it may know.
        surroundings: The same in the words of the documents.
        text: The same in words.
        vector: The same in numbers.
        steps: Steps done in the episode.
        own: What only this agent gets, except its hint.
        messages: What it has heard since it last perceived.
        earlier: Messages heard before that are shown again; ``None`` where none are kept.
        inventory: What it carried when it last perceived.
        result: What became of its last action.
    """
    carried = surroundings.inventory
    before = {} if earlier is None else {MESSAGE_HISTORY: [m.model_dump() for m in earlier]}
    return PerceptionData(
        timestamp=float(steps),
        raw_observations={**surroundings.perceptions, **before},
        visible_text=text,
        messages=list(messages),
        inventory_update=None if carried is None else inventory_update(inventory, carried),
        self_stats_feedback=None if surroundings.stats is None else dict(surroundings.stats),
        visible_entities=entities(surroundings.objects),
        last_action_result=None if result is None else dict(result),
        sensor_data={"text": text, "vector": vector},
        agent_specific_data={**own, **({} if facts.hint is None else {"hint": facts.hint})},
    )


def messages_before(world: World[Any, Any], facts: Facts, steps: int) -> list[Message] | None:
    """Return the messages that an agent has heard before; ``None`` where none are shown again.

    Args:
        world: The world, whose config may have ``message_history``.
        facts: What the agent may know.
        steps: Steps done in the episode.
    """
    if not getattr(world.config, "message_history", 0):
        return None
    return [message_of(letter, steps - ago) for letter, ago in getattr(facts, "earlier", ())]


def message_of(letter: Letter, time: float) -> Message:
    """Return a letter of the mailboxes as a message of the documents, which says when it came."""
    return Message(
        sender=letter.sender,
        content=letter.message,
        timestamp=float(time),
        recipient=letter.recipient,
    )


def entities(things: Sequence[Thing]) -> list[dict[str, Any]]:
    """Return the things in sight as the PiaSE design document lists them.

    Those of the same name are numbered.
    """
    counts, seen = Counter(thing.name for thing in things), Counter[str]()
    found = []
    for thing in things:
        seen[thing.name] += 1
        many = counts[thing.name] > 1
        name = f"{thing.name}_{seen[thing.name]}" if many else thing.name
        properties = {"name": thing.name, **thing.properties}
        found.append({"id": name, "type": thing.kind, "properties": properties})
    return found


def inventory_update(before: Sequence[str], now: Sequence[str]) -> dict[str, list[str]]:
    """Return what was added and what was removed."""
    old, new = Counter(before), Counter(now)
    return {"added": sorted((new - old).elements()), "removed": sorted((old - new).elements())}
