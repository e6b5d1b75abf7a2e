"""GridWorld's oracle: it sees the whole state, and plans for one agent or for the team.

One agent alone gets the plan of highest return, several get plans that fit together. A plan is
followed until the world differs from what it foresaw. If nothing can be foreseen, as among drones,
or if the task is not to reach a goal, every step is decided on its own; see `stepwise`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from piase_gym.worlds.grid_world.cells import FRUIT, MOVER
from piase_gym.worlds.grid_world.players.search import TimedPlan, cheapest
from piase_gym.worlds.grid_world.players.stepwise import StepwisePlayer
from piase_gym.worlds.grid_world.players.successors import INTERACT, MOVE_OF, STAY, Successors
from piase_gym.worlds.grid_world.players.team import Scene, Team, lone, look
from piase_gym.worlds.grid_world.world import GridWorld
from piase_gym.worlds.grids.moves import move_in_frame

DISTRUST: Final = 8
"""Steps for which an agent that left its plan is not counted on; doubled every time."""
LOOK_AHEAD: Final = 3


class GridWorldOracle:
    """Plays GridWorld with the whole state in view.

    Alone, an agent arrives with the highest possible return, in which facing a door by bumping into
    it costs what the rewards say. If there is nothing to face, its way is the shortest. Several
    agents are planned together, each in as few steps as it can, assuming that all keep to the plan.
    An agent that does not is treated as an obstacle for a while, and the others replan around it.

    In each step the search for plans ends after `STEP_BUDGET` states. An agent without a plan by
    then goes where a goal seems nearest, and `cut_short` says so.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: GridWorld) -> None:
        self.world = world
        self._rules = Successors(world)
        self._stepwise = StepwisePlayer(self._rules)
        self._scene: Scene | None = None
        self._team: Team | None = None
        self._asked: set[int] = set()
        self._distrust: dict[int, tuple[int, int]] = {}  # until when, and for how long last time
        self._still: dict[int, int] = {}  # for how long each agent has not moved

    @property
    def cut_short(self) -> bool:
        """Whether the plans followed last were the best so far when the search budget was spent.

        They need not be the best plans there are, nor lead to a goal.
        """
        if self._stepwise.needed():
            return self._stepwise.cut_short
        return self._team is not None and self._team.budget.spent

    @property
    def plans_hold(self) -> bool:
        """Whether plans can be carried out as they are: all is foreseen, and no turns lack."""
        return not self._stepwise.needed() and self.world.config.frame == "grid"

    def plan(self, agent: int) -> list[int] | None:
        """Return the best plan for an agent as if it were alone, or None without a way.

        An agent that has arrived needs no more actions; one that is out of play has no way.
        """
        scene = look(self._rules)
        if not scene.alive[agent]:
            return [] if scene.arrived[agent] else None
        track = lone(scene, agent)
        return None if track is None else track.actions

    def certificate(self, agent: int) -> int | None:
        """Return in how many steps an agent could arrive if it were alone, clear of hazards.

        None if it never could, or if that is not known: if turns take steps, if drones fly, if the
        way is longer than the energy lasts, or if boxes can be pushed around in too many ways.
        """
        scene = look(self._rules)
        if not scene.alive[agent]:
            return 0 if scene.arrived[agent] else None
        if self.world.config.frame == "agent":  # turns take steps that plans do not count
            return None
        if MOVER in scene.ground.cells:
            return None
        track = cheapest(scene.rules, scene.ground, scene.walkers[agent])
        if track is None or not track.least:
            return None
        energy, steps = int(self.world.states[0]["energy"][agent]), len(track.actions)
        return None if self.world.config.energy and steps > energy else steps

    def best_return(self, agent: int) -> float | None:
        """Return the highest return from now on that an agent could have alone, clear of hazards.

        None if there is no way, or if the return is not known: if more than arriving is rewarded
        (such as fruit), turns take steps, drones fly, energy is used up, boxes can be pushed around
        in too many ways, or never arriving might be worth more.
        """
        config, scene = self.world.config, look(self._rules)
        if not scene.alive[agent]:
            return 0.0
        turning = config.frame == "agent"
        if self._stepwise.needed() or turning or config.energy or FRUIT in scene.ground.cells:
            return None
        track = lone(scene, agent)
        if track is None or not track.least or len(track.actions) > scene.left:
            return None
        r = config.rewards
        mildest = max(r.move, r.stay, r.blocked, r.interact, r.locked, r.illegal)
        best = self._worth(track)
        return best if mildest <= 0 and r.move < 0 and best >= scene.left * mildest else None

    def _worth(self, track: TimedPlan) -> float:
        """Return the return of a plan that arrives."""
        rewards = self.world.config.rewards
        found = rewards.goal  # in place of the last move's
        for action, (here, there) in zip(track.actions[:-1], pairwise(track.places), strict=False):
            if action == INTERACT:
                found += rewards.interact
            else:
                found += rewards.blocked if here == there else rewards.move
        return found

    def act(self, agent: int) -> int:
        """Return the index of the action for the present state; an ended agent stays.

        In the frame of the agent it turns towards where a move would lead, and then steps.
        """
        heading = int(self.world.states["heading"][0, agent])
        return move_in_frame(self._act(agent), self.world.config.frame, heading)

    def _act(self, agent: int) -> int:
        """Return the action in the frame of the grid."""
        if self._stepwise.needed():
            return self._stepwise.act(agent)
        team = self._follow(look(self._rules))
        if agent in team.strays:  # it asks, so it follows
            self._distrust.pop(agent, None)
            team = self._replan()
        self._asked.add(agent)
        assert self._scene is not None
        if not self._scene.alive[agent]:
            return STAY
        return team.action(agent, self._scene.t - team.scene.t)

    def _follow(self, scene: Scene) -> Team:
        """Note the present scene, and return the plan to follow in it."""
        last, self._scene = self._scene, scene
        if last is None or self._team is None or not _continues(last, scene):
            self._distrust, self._still = {}, {}
            return self._replan()
        if scene == last:
            return self._team
        for a, (old, new) in enumerate(zip(last.walkers, scene.walkers, strict=True)):
            self._still[a] = self._still.get(a, 0) + 1 if old.place == new.place else 0
        if self._as_planned(last, scene, self._team):
            self._asked.clear()
            return self._team
        return self._replan()

    def _replan(self) -> Team:
        """Plan from the present scene."""
        scene = self._scene
        assert scene is not None
        self._asked.clear()
        strays = {
            a: self._still.get(a, 0) + 2
            for a, (until, _) in sorted(self._distrust.items())
            if until > scene.t and scene.alive[a]
        }
        self._team = Team(scene, strays)
        return self._team

    def _as_planned(self, last: Scene, scene: Scene, team: Team) -> bool:
        """Return whether the plan still holds, and note which agents have left it."""
        step = scene.t - team.scene.t
        fine = team.cells(step) == scene.ground.cells
        for a, track in team.tracks.items():
            here, walker = team.place(a, step), scene.walkers[a]
            gone = track.arrives and step >= len(track.actions)
            if gone == scene.alive[a] or here != walker.place or self._turned(team, a, step, scene):
                fine = False
                if a not in self._asked and not self._hindered(last, scene, a, team):
                    span = 2 * self._distrust.get(a, (0, DISTRUST // 2))[1]
                    self._distrust[a] = (scene.t + span, span)
        fine &= not (team.passing or team.ends(step))
        return fine and not self._stray_ahead(scene, team, step)

    def _turned(self, team: Team, agent: int, step: int, scene: Scene) -> bool:
        """Return whether a living agent faces another way than its last action turned it."""
        action = team.action(agent, step - 1)
        heading = scene.walkers[agent].heading
        return scene.alive[agent] and action in MOVE_OF and MOVE_OF[heading] != action

    def _hindered(self, last: Scene, scene: Scene, agent: int, team: Team) -> bool:
        """Return whether an agent tried to keep to the plan, and somebody was in its way."""
        action = team.action(agent, last.t - team.scene.t)
        old, new = last.walkers[agent], scene.walkers[agent]
        if action not in MOVE_OF or MOVE_OF[new.heading] != action or old.place != new.place:
            return False
        ahead = old.place + scene.ground.steps[new.heading]
        return any(
            walkers[b].place == ahead
            for walkers in (last.walkers, scene.walkers)
            for b in range(len(walkers))
            if b != agent and last.alive[b]
        )

    def _stray_ahead(self, scene: Scene, team: Team, step: int) -> bool:
        """Return whether an agent without a plan stands where others will soon walk."""
        taken = {scene.walkers[a].place for a in team.strays if scene.alive[a]}
        soon = range(step + 1, step + 1 + LOOK_AHEAD)
        return bool(taken) and any(
            team.place(a, time) in taken for a in team.tracks for time in soon if scene.alive[a]
        )


def _continues(last: Scene, scene: Scene) -> bool:
    """Return whether a scene is the same as the last or can be the one after it."""
    same = last.episode == scene.episode and len(last.walkers) == len(scene.walkers)
    same &= not any(now > before for before, now in zip(last.alive, scene.alive, strict=True))
    return scene == last or (same and scene.t == last.t + 1 and last.rank == scene.rank)
