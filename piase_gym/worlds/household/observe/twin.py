"""Another home that one agent cannot tell from its own: what it has not seen lies elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from piase_gym.core.mailbox import Mailbox, Message
from piase_gym.worlds.household.levels.game import Game
from piase_gym.worlds.household.state import HomeState


def differ(game: Game, state: HomeState, mail: Mailbox, agents: Sequence[str], agent: int) -> bool:
    """Change what an agent cannot know; return whether there was anything.

    Objects move between receptacles that it has not looked into and does not stand at, unless the
    task is about them. Other agents are told, and remember, other things.
    """
    asked = {k for wanted in game.goal.wanted for k in wanted.objects}
    at, seen = state.at[agent], state.seen[agent]
    hidden = [
        r
        for r, (_, things) in enumerate(seen)
        if things is None and game.places_of[r] not in (-1, at)
    ]
    moved = False
    for r, other in itertools.pairwise(hidden):
        for k in state.contents[r]:
            alone = sum(k in things for things in state.contents) == 1
            if alone and k not in asked and other < len(state.contents):
                state.contents[r] = tuple(x for x in state.contents[r] if x != k)
                state.contents[other] = tuple(sorted((*state.contents[other], k)))
                state.spots[k] = (game.places_of[other],)
                moved = True
    for number, name in enumerate(agents):
        if number != agent and state.status[number] == "playing":
            state.feedback[number] = "Only you are told this."
            mail.delivered[name].append(Message(agents[agent], name, "You alone hear this."))
            state.seen[number] = [(lid, None) for lid, _ in state.seen[number]]
            moved = True
    return moved
