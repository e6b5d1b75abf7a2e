"""The VectorEnv environment: one learner in many envs, stepped by one kernel if there is one."""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FrameType
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from piase_gym.agents.base import Agent
from piase_gym.core.commands import RESULTS, Result
from piase_gym.core.config import larger
from piase_gym.core.rng import check_seed, spread_seeds
from piase_gym.envs.actions import count_entries, to_indices
from piase_gym.envs.arguments import Name, characters_of, partners_around, resolve
from piase_gym.envs.base import RENDER_MODES
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.batch_checks import check_singles
from piase_gym.envs.config_changes import Modified
from piase_gym.envs.observations import ObservationStyle, is_native, open_masks
from piase_gym.envs.partners import Partners, agent_number, read_partners
from piase_gym.envs.pictures import SizeFitter
from piase_gym.envs.runner import check_options
from piase_gym.envs.single import GymEnv
from piase_gym.envs.spec import TIME_LIMIT, LimitInSpec, settle_limit
from piase_gym.errors import ActionError, ConfigError, ResetNeededError, require_known
from piase_gym.registry import load
from piase_gym.worlds.array_world import steps_in_batches

MODES = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}
_NAMES = np.array(RESULTS, object)
_WON = RESULTS.index(Result.WON)


class BatchVectorEnv(LimitInSpec, VectorEnv[Any, Any, Any]):
    """A learner in many environments of an array world. Made by `gymnasium.make_vec`.

    An episode ends when the learner's does. Infos have ``action_mask``, ``outcome`` (codes of
    `piase_gym.core.commands.OUTCOMES`), where an episode began ``seed``, and where one ended
    ``result``, ``won`` and the ``measures`` of a scenario. Under ``SAME_STEP`` the last
    observations are in ``final_obs``, and what the infos tell of those steps is in ``final_info``
    too.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES[1:]),
        "render_fps": 8,
    }

    def __init__(
        self,
        batch: BatchEnv,
        mode: AutoresetMode,
        render_mode: str | None,
        style: ObservationStyle,
    ) -> None:
        """Build the environment on a batch in which all agents but the learner are partners."""
        self._style = style
        self.metadata = {**type(self).metadata, "autoreset_mode": mode}  # type: ignore[misc]
        self.render_mode = render_mode
        self.batch = batch
        self.num_envs = batch.num_envs
        self._same_step = mode is AutoresetMode.SAME_STEP
        self._take_spaces()

    def _take_spaces(self) -> None:
        """Take over the spaces of the batch."""
        batch = self.batch
        vector = batch.observation_space
        bits = spaces.Box(0, 1, (int(batch.action_space.n),), np.int8)
        masked = spaces.Dict({"observation": vector, "action_mask": bits})
        self.single_observation_space = vector if self._style.mask is None else masked
        self.single_action_space = batch.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def grow_envelope(self, envelope: Mapping[str, int]) -> None:
        """Make room for larger configs, before the first reset; see `BatchEnv.grow_envelope`."""
        world = self.batch.world
        count = larger(world.config, world.envelope, envelope).envelope.agents
        names = world.config.names(count)
        self.batch.grow_envelope(envelope, dict.fromkeys(names[len(world.agents) :], "random"))
        self._take_spaces()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start episodes.

        Args:
            seed: An integer (slot i gets ``seed + i``) or one for each slot.
            options: ``reset_mask`` (bool, one per slot) resets some of the slots, and ``config``
                changes fields of their configs from this reset on.
        """
        flags = read_reset_mask(options, self.num_envs)
        check_options(options, ("config", "reset_mask"), stacklevel=3)
        spread_seeds(seed, self.num_envs)  # before any config changes
        if options and "config" in options:
            self.batch.change_next(options["config"], flags)
        shown, infos = self.batch.reset(seed, which=flags)
        if seed is not None and np.ndim(seed) == 0:  # type: ignore[arg-type]
            super().reset(seed=check_seed(seed))
        masks = self._own_masks(infos, "action_mask")
        info = {"seed": infos["seed"]} if self._style.full else {}
        if info and flags is not None:
            info["_seed"] = flags.copy()
        return self._in_style(shown[:, 0], masks), self._infos(info, masks)

    def _own_masks(self, infos: Mapping[str, Any], key: str) -> Any:
        """Return the learner's masks, if they are shown anywhere."""
        return infos[key][:, 0] if self._style.needs_masks else None

    def _in_style(self, vectors: NDArray[Any], masks: Any) -> Any:
        """Return observations as the style has them."""
        if self._style.mask is None:
            return vectors
        return {"observation": vectors, "action_mask": masks.copy()}

    def step(
        self, actions: Any
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Let the learner act once in every environment.

        Raises:
            ActionError: If the actions are not integers of shape (num_envs,) in the action space.
        """
        acts, full = to_indices(actions, (self.num_envs,))[:, None], self._style.full
        begun = self.batch.batch.states["over"].astype(np.bool_)  # where next_step resets
        shown, rewards, terminated, truncated, infos = self.batch.step(acts)
        masks = self._own_masks(infos, "action_mask")
        more: dict[str, Any] = {"outcome": infos["outcome"][:, 0]} if full else {}
        over = terminated[:, 0] | truncated[:, 0]
        if full and over.any():
            more["result"], more["_result"] = _NAMES[infos["result"][:, 0]], over
            more["won"], more["_won"] = infos["result"][:, 0] == _WON, over.copy()
            if "measures" in infos:
                more["measures"], more["_measures"] = {}, over.copy()
                for name, values in infos["measures"].items():
                    more["measures"] |= {name: values[:, 0], f"_{name}": over.copy()}
        if self._same_step and over.any():
            last = {key: copy.deepcopy(value) for key, value in more.items() if key[0] != "_"}
            if self._style.tells_masks:
                last["action_mask"] = self._own_masks(infos, "final_action_mask")
            more["final_obs"], more["_final_obs"] = self._last(infos, over), over.copy()
            marks = {f"_{key}": over.copy() for key in last}
            more["final_info"], more["_final_info"] = {**last, **marks}, over.copy()
            begun = over
        elif full and begun.any():
            more["_outcome"] = ~begun
        if full and begun.any() and self.batch.autoreset != "disabled":
            more["seed"], more["_seed"] = self.batch.seeds(), begun.copy()
        found = self._in_style(shown[:, 0], masks), rewards[:, 0]
        return *found, terminated[:, 0], truncated[:, 0], self._infos(more, masks)

    def _last(self, infos: Mapping[str, Any], over: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the last observations of the episodes that are over, one per slot."""
        final, masks = (
            np.full(self.num_envs, None, object),
            self._own_masks(infos, "final_action_mask"),
        )
        for slot in np.flatnonzero(over):
            mask = None if masks is None else masks[slot]
            final[slot] = self._in_style(infos["final_obs"][slot, 0].copy(), mask)
        return final

    def _infos(self, infos: dict[str, Any], masks: Any) -> dict[str, Any]:
        """Add the masks, and mark entries that have no mark of their own as valid in all slots."""
        if self._style.tells_masks:
            infos["action_mask"] = masks
        for key in [key for key in infos if key[0] != "_" and f"_{key}" not in infos]:
            infos[f"_{key}"] = np.ones(self.num_envs, np.bool_)
        return infos

    def _episode_limit(self) -> int:
        return int(self.batch.configs[0].max_steps)

    def modify(self, changes: Mapping[str, Any], which: Any = slice(None)) -> Modified:
        """Change fields of configs, at once where allowed; see `BatchEnv.modify`."""
        return self.batch.modify(changes, which)

    def adjust_difficulty(self, params: Mapping[str, Any], which: Any = slice(None)) -> Modified:
        """Make the world harder or easier; see `BatchEnv.adjust_difficulty`."""
        return self.batch.adjust_difficulty(params, which)

    def introduce_element(
        self, element_config: Mapping[str, Any], which: Any = slice(None)
    ) -> Modified:
        """Put something into the world; see `BatchEnv.introduce_element`."""
        return self.batch.introduce_element(element_config, which)

    def post_event(
        self, event_type: str, data: Mapping[str, Any] | None = None, agent: str | None = None
    ) -> None:
        """Post an event of one's own; see `WorldAccess.post_event`."""
        self.batch.post_event(event_type, data, agent)

    def provide_indirect_hint(self, agent_id: str, hint: str) -> None:
        """Show words to an agent; see `BatchEnv.provide_indirect_hint`."""
        self.batch.provide_indirect_hint(agent_id, hint)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks as booleans, shape (num_envs, actions)."""
        return self.batch.masks()[:, 0].astype(np.bool_)

    def render(self) -> tuple[Any, ...] | None:
        """Draw every environment."""
        if self.render_mode is None:
            return None
        return tuple(self.batch.draw(slot, self.render_mode) for slot in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Release memory."""
        self.batch.close()


def read_reset_mask(options: object, num_envs: int) -> NDArray[np.bool_] | None:
    """Return which slots the options of a reset name, or ``None`` if they do not say.

    Raises:
        ConfigError: If it is not one bool per slot.
    """
    mask = options.get("reset_mask") if isinstance(options, Mapping) else None
    flags = None if mask is None else np.asarray(mask)
    if flags is not None and (flags.shape != (num_envs,) or flags.dtype != np.bool_):
        raise ConfigError(f"reset_mask is an array of {num_envs} bools, not {mask!r:.60}")
    return flags


class SingleVectorEnv(LimitInSpec, SyncVectorEnv):
    """Environments with one learner each, stepped one after the other."""

    def __init__(self, makers: Sequence[Callable[[], GymEnv]], mode: AutoresetMode) -> None:
        """Make the environments."""
        super().__init__(makers, autoreset_mode=mode)
        self._pictures = SizeFitter()

    def render(self) -> tuple[Any, ...]:
        """Draw every environment; pictures have one size."""
        shown: tuple[Any, ...] = super().render()
        return tuple(self._pictures.fit(shown)) if self.render_mode == "rgb_array" else shown

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes; see `BatchVectorEnv.reset`. A mask must name a slot."""
        flags = read_reset_mask(options, self.num_envs)
        if flags is not None:
            if not flags.any():
                raise ConfigError("reset_mask names no slot; leave out the reset, or name one")
            options = {**(options or {}), "reset_mask": flags}  # SyncVectorEnv takes it out
        seeds = list(spread_seeds(seed, self.num_envs))
        return super().reset(seed=seeds, options=options)  # type: ignore[arg-type]

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Let the learner act once in every environment.

        Raises:
            ActionError: If there is not one action a slot, or one is not in the action space;
                nothing has happened then in any slot.
            ResetNeededError: If an episode is over that nothing resets.
        """
        self._check(actions)
        for slot, env in enumerate(self.envs):
            runner = env.unwrapped.runner  # type: ignore[attr-defined]
            runner.require_episode()
            if self.autoreset_mode is AutoresetMode.DISABLED and not runner.live:
                raise ResetNeededError(f"slot {slot}: the episode is over; call reset() for it")
        found: tuple[Any, ...] = super().step(actions)
        for part in (found[0], found[-1]):
            if isinstance(part, dict) and "action_mask" in part:
                part["action_mask"] = np.array(open_masks(part["action_mask"]))
        return found

    def _check(self, actions: Any) -> None:
        """Check the actions of all slots before the first one acts; lines of text always fit."""
        if isinstance(self.single_action_space, spaces.Discrete):
            actions = to_indices(actions, (self.num_envs,))
        if count_entries(actions) != self.num_envs:
            raise ActionError(f"actions are one for each of {self.num_envs} slots: {actions!r:.60}")
        if not isinstance(self.single_action_space, spaces.Text):
            for env, action in zip(self.envs, actions, strict=True):
                env.unwrapped.check_action(action)  # type: ignore[attr-defined]

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks as booleans, shape (num_envs, actions)."""
        masks = [env.unwrapped.action_masks() for env in self.envs]  # type: ignore[attr-defined]
        return np.array(open_masks(masks))

    def _episode_limit(self) -> int:
        return int(self.envs[0].unwrapped.config.max_steps)  # type: ignore[attr-defined]


def make_vector(
    world: Name,
    *,
    num_envs: int,
    agent: str | None = None,
    view: str = "vector",
    actions: str = "discrete",
    mask: str | None = None,
    wording: str = "canonical",
    texts: str = "eager",
    infos: str = "full",
    dtype: str | None = None,
    strict: bool = False,
    partners: Partners | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    scenario: object = None,
    envelope: object = None,
    **config: Any,
) -> VectorEnv[Any, Any, Any]:
    """Make many environments with one learner each; the vector entry point of every id.

    Array worlds are stepped by their kernel. Environments of other worlds, with views that have
    text, or with learners that enter after the reset, run one after the other: text must never pass
    through the shared memory of Gymnasium's AsyncVectorEnv.

    Args:
        world: An id, a world or a config object.
        num_envs: How many environments.
        agent: Which agent the learner plays; default the first.
        view: ``"vector"``, ``"text"`` or ``"both"``.
        actions: ``"discrete"``, ``"text"``, or ``"continuous"`` where the world has it.
        mask: ``None`` (masks are in the infos and in `action_masks`) or ``"obs"``
            (``{"observation", "action_mask"}``).
        wording: The dialect of texts; see `GymEnv`.
        texts: When ``view="both"`` writes texts; see `GymEnv`.
        infos: ``"full"``, ``"mask"`` (``action_mask`` alone, besides the last observations) or
            ``"none"``.
        dtype: ``"float32"`` for vectors of that type; default: the world's own.
        strict: Whether a text action must be the bare command; see `GymEnv`.
        partners: Policies for the other agents; default: the id's, else ``random``.
        autoreset_mode: Gymnasium's `AutoresetMode`, or its name.
        render_mode: ``"ansi"`` or ``"rgb_array"``.
        scenario: A scenario: its name, path, dict or object.
        envelope: The largest sizes that later configs may have.
        config: Fields of the world's config.
    """
    mode = _mode(autoreset_mode)
    if render_mode is not None:
        require_known("render_mode", render_mode, RENDER_MODES[1:])
    style = ObservationStyle(view, mask, wording, texts, infos, dtype)
    style.check()
    asked = _asked_of(sys._getframe(1), config)
    config = settle_limit(config, config.pop(TIME_LIMIT, None), asked)
    checked, spec, row, chosen, _ = resolve(world, scenario, envelope, config)
    made = load(spec.world, spec)(checked)
    is_native(made, wording)  # refuses what the world does not have
    number = 0 if agent is None else agent_number(made.agents, agent)
    focal = made.agents[number]
    seats = partners_around(made.agents, row, partners, focal)
    brought = set(characters_of(chosen)) - {focal, *read_partners(partners)}

    def people() -> dict[str, str | Agent]:
        """Return the partners, with new objects for the characters."""
        new = characters_of(chosen)
        return {**seats, **{name: new[name] for name in brought}}

    plain = (view, actions) == ("vector", "discrete")
    if not (plain and steps_in_batches(made) and made.plays_from_reset(made.config, number)):
        made.close()

        fields: dict[str, Any] = {"agent": focal, "view": view, "actions": actions, "mask": mask}
        fields |= {"wording": wording, "texts": texts, "infos": infos, "dtype": dtype}
        fields |= {"strict": strict, "render_mode": render_mode}
        makers = [
            functools.partial(GymEnv, checked, partners=copy.deepcopy(people()), **fields)
            for _ in range(check_singles(num_envs, spec.name))
        ]
        return SingleVectorEnv(makers, mode)
    batch = BatchEnv(
        made,
        num_envs,
        partners=people(),
        autoreset=MODES[mode],
        focal=number,
        infos="mask" if infos == "none" and mask else infos,
        dtype=dtype,
    )
    return BatchVectorEnv(batch, mode, render_mode, style)


def _asked_of(frame: FrameType, config: Collection[str]) -> Collection[str]:
    """Return the names of what a call itself gives, not the spec of its `gymnasium.make_vec`."""
    given = frame.f_locals["kwargs"] if frame.f_code is gymnasium.make_vec.__code__ else config
    return set(given)


def _mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return Gymnasium's autoreset mode from its value or name."""
    for known in AutoresetMode:
        if mode in (known, known.value, known.name, known.name.lower()):
            return known
    names = ", ".join(repr(known.name) for known in AutoresetMode)
    raise ConfigError(f"unknown autoreset_mode {mode!r}; allowed: {names}")
