"""Environments of one's own, one behind each of the documents' abstract classes."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from piase_gym import AbstractEnvironment, BaseEnv, Environment, PerceptionInterface
from piase_gym.core.models import (
    Action,
    ActionCommand,
    ActionResult,
    ActionSchema,
    EnvironmentInfo,
    Observation,
    PerceptionData,
    PerceptionFieldSchema,
)


class Lamps(Environment):
    """Two agents light the lamps of a row; who lights the last one is rewarded most."""

    def __init__(self, lamps: int = 3) -> None:
        self.lamps = lamps
        self.lit: list[bool] = []
        self.at: dict[str, int] = {}

    def reset(self) -> PerceptionData:
        self.lit = [False] * self.lamps
        self.at = {}
        return self.get_observation("agent_0")

    def step(self, agent_id: str, action: ActionCommand) -> ActionResult:
        place = self.at.get(agent_id, 0)
        if action.action_type == "go":
            place += 1 if action.parameters["direction"] == "right" else -1
            self.at[agent_id] = min(max(place, 0), self.lamps - 1)
            return ActionResult(status="success", message="You walk.")
        if self.lit[place]:
            return ActionResult(status="failure", message="It is lit already.")
        self.lit[place] = True
        reward = 5.0 if all(self.lit) else 1.0
        return ActionResult(status="success", message="Light!", rewards_obtained={"light": reward})

    def get_observation(self, agent_id: str) -> PerceptionData:
        place = self.at.get(agent_id, 0)
        return PerceptionData(
            timestamp=0.0,
            visible_text=f"You stand at lamp {place}. {sum(self.lit)} of {self.lamps} are lit.",
            sensor_data={"place": place, "lit": np.array(self.lit, np.float32)},
        )

    def get_state(self) -> Any:
        return {"lit": self.lit, "at": self.at}

    def set_state(self, state: Any) -> None:
        self.lit, self.at = list(state["lit"]), dict(state["at"])

    def is_done(self, agent_id: str) -> bool:
        return all(self.lit)

    def get_action_space(self, agent_id: str | None = None) -> dict[str, Any]:
        go = {"direction": {"type": "string", "choices": ["left", "right"]}}
        return {"go": {"parameters": go}, "light": {"parameters": {}}}

    def get_environment_info(self) -> dict[str, Any]:
        return {"environment_name": "Lamps", "description": "Light all lamps."}


class Dice(AbstractEnvironment):
    """Bet on a die that falls between two steps; it falls by Python's `random`."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {"target": 3, "sides": 6}
        self.face, self.points, self.bet = 0, 0, 0

    def load_configuration(self, config_data: dict[str, Any]) -> bool:
        self.config |= config_data
        return True

    def adjust_difficulty(self, params: dict[str, Any]) -> None:
        self.config["target"] += params["more"]

    def step(self, current_time_step: int) -> None:
        self.face = random.randint(1, self.config["sides"])
        self.points += self.face == self.bet

    def get_current_state_snapshot(self, scope: str | None = None) -> dict[str, Any]:
        return {"face": self.face, "points": self.points, "config": dict(self.config)}

    def reset_environment(self, scenario_config: dict[str, Any] | None = None) -> bool:
        self.face, self.points, self.bet = 0, 0, 0
        return True

    def get_perceptual_data_for_agent(self, agent_id: str) -> PerceptionData:
        return PerceptionData(
            timestamp=0.0,
            raw_observations={"face": self.face, "points": self.points},
            visible_text=f"The die shows {self.face}. You have {self.points} points.",
            agent_specific_data={"done": self.points >= self.config["target"]},
        )

    def apply_action_from_agent(self, agent_id: str, action_command: ActionCommand) -> ActionResult:
        self.bet = action_command.parameters["face"]
        return ActionResult(status="success", rewards_obtained={"stake": -0.1})

    def get_environment_info(self) -> EnvironmentInfo:
        face = {"type": "integer", "enum": [1, 2, 3, 4, 5, 6]}
        return EnvironmentInfo(
            environment_name="Dice",
            description="Bet on a die.",
            action_schema={"bet": ActionSchema(parameters={"face": face})},
            perception_schema={"face": PerceptionFieldSchema(type="integer")},
        )


class Street(PerceptionInterface):
    """A street of places with things; it has no reset, so a new one is made for each episode."""

    def __init__(
        self, things: tuple[str, ...] | list[str] = ("chair", "keyboard", "table")
    ) -> None:
        self.things = list(things)
        self.at: dict[str, int] = {}
        self.boxes: dict[str, list[dict[str, str]]] = {}

    def get_visible_objects(self, agent_id: str, position: Any) -> list[str]:
        return [self.things[position]]

    def get_agent_state(self, agent_id: str) -> dict[str, Any]:
        place = self.at.get(agent_id, 0)
        return {"position": place, "done": place == len(self.things) - 1}

    def execute_action(self, agent_id: str, action: str, params: Any = None) -> dict[str, Any]:
        move = {"forward": 1, "backward": -1}[action]
        self.at[agent_id] = min(max(self.at.get(agent_id, 0) + move, 0), len(self.things) - 1)
        state = self.get_agent_state(agent_id)
        return {**state, "status": "success", "reward": float(state["done"])}

    def get_environment_info(self) -> dict[str, Any]:
        return {"description": "A street.", "actions": ["forward", "backward"]}

    def send_message(self, sender: str, recipient: str, message: str) -> None:
        for name in ("agent_0", "agent_1") if recipient == "all" else (recipient,):
            if name != sender:
                letter = {"sender": sender, "recipient": recipient, "message": message}
                self.boxes.setdefault(name, []).append(letter)

    def poll_messages(self, agent_id: str) -> list[dict[str, str]]:
        return self.boxes.pop(agent_id, [])


class Tower(BaseEnv):
    """Climb to the top."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.floors = self.config.get("floors", 3)
        self.floor = 0

    def _look(self) -> Observation:
        text = f"You stand on floor {self.floor} of {self.floors}."
        self._observation = Observation(structured={"text": text, "floor": self.floor})
        return self._observation

    def reset(self) -> Observation:
        self.floor = 0
        return self._look()

    def step(self, action: Action) -> tuple[Observation, float, bool, dict[str, Any]]:
        self.floor = max(0, self.floor + {"climb": 1, "go down": -1}[action.text])
        top = self.floor == self.floors
        return self._look(), float(top), top, {"won": top}

    def get_action_space(self) -> dict[str, Any]:
        line = {"type": "string", "enum": ["climb", "go down"]}
        return {"type": "object", "properties": {"action": line}}

    def get_available_actions(self, info: dict[str, Any] | None = None) -> list[Action]:
        return [Action("climb")] + ([Action("go down")] if self.floor else [])


KINDS = (Lamps, Dice, Street, Tower)


class Broken(Tower):
    """Does something wrong in its third step, or in a later reset."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__({"floors": 9, **config})
        self.how = self.config["how"]
        self.steps = self.resets = 0

    def reset(self) -> Observation:
        self.steps = 0
        self.resets += 1
        if self.how == "raise in reset" and self.resets > 2:
            raise RuntimeError("no more episodes")
        return super().reset()

    def step(self, action: Action) -> tuple[Observation, float, bool, dict[str, Any]]:
        self.steps += 1
        found = super().step(action)
        if self.steps < 3:
            return found
        if self.how == "raise":
            raise ValueError("the stairs\nbreak")
        if self.how == "exit":
            raise SystemExit(3)
        if self.how == "hang":
            time.sleep(60)
        if self.how == "die":
            import os

            os._exit(7)
        if self.how == "nothing":
            return None  # type: ignore[return-value]
        observation, reward, done, info = found
        if self.how == "no observation":
            return "floor 3", reward, done, info  # type: ignore[return-value]
        if self.how == "no reward":
            return observation, "much", done, info  # type: ignore[return-value]
        if self.how == "nan":
            return observation, float("nan"), done, info
        if self.how == "no flag":
            return observation, reward, "yes", info  # type: ignore[return-value]
        if self.how == "no info":
            return observation, reward, done, None  # type: ignore[return-value]
        if self.how == "word for number":
            observation.structured["floor"] = "three"
        if self.how == "array for number":
            observation.structured["floor"] = np.zeros(4)
        return observation, reward, done, info

    def get_action_space(self) -> dict[str, Any]:
        space = super().get_action_space()
        if self.how == "new actions" and self.steps >= 3:
            space["properties"]["action"]["enum"].append("fly")
        return space

    def get_available_actions(self, info: dict[str, Any] | None = None) -> list[Action]:
        if self.how == "strange actions" and self.steps >= 3:
            return [Action("fly")]
        return super().get_available_actions(info)
