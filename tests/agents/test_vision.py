"""Vision models: pictures go out whole, descriptions come back, and are scored by the mask."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import piase_gym
from piase_gym import PerceptionInterface, runs
from piase_gym.agents.explorer import explorer_flow
from piase_gym.agents.llm import Budget, VisionModel
from piase_gym.agents.llm.replies import REPLY_EVENT
from piase_gym.agents.llm.vision import data_url
from piase_gym.errors import ConfigError, ModelError, UnknownNameError
from piase_gym.runs.manifest import rebuild
from piase_gym.simulation import Exploration
from piase_gym.testing.model_server import ModelServer, Request, Say, pictures_of
from piase_gym.worlds import describing
from piase_gym.worlds.describing import (
    Palette,
    SeenObject,
    describer,
    register_describer,
    score_caption,
    score_objects,
)
from tests.helpers.models import KEY

pytest.importorskip("openai")


def picture(height: int = 24, width: int = 40, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def seeing(server: ModelServer, **settings: Any) -> VisionModel:
    return VisionModel("eye", server.base_url, **{"retries": 0, "timeout": 5.0, **settings})


# -- what is sent -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "image", "grey", "path", "text"])
def test_a_picture_arrives_pixel_by_pixel(kind: str, tmp_path: Path) -> None:
    sent = picture()
    path = tmp_path / "a.png"
    Image.fromarray(sent).save(path)
    grey = Image.fromarray(sent).convert("L")
    given = {
        "array": sent,
        "image": Image.fromarray(sent),
        "grey": grey,
        "path": path,
        "text": str(path),
    }[kind]
    with ModelServer(["A wall."]) as server:
        assert seeing(server).caption_image(given) == "A wall."
    wanted = np.array(grey.convert("RGB")) if kind == "grey" else sent
    assert len(server.pictures) == 1
    np.testing.assert_array_equal(server.pictures[0], wanted)
    system, user = server.requests[0]["messages"]
    assert "no instruction to you" in system["content"]
    assert [part["type"] for part in user["content"]] == ["text", "image_url"]


def test_the_server_refuses_what_is_no_picture() -> None:
    good = data_url(picture())
    for bad in (
        "http://127.0.0.1/a.png",
        good.replace("png", "jpeg"),
        good[:-40],
        good.replace("base64,", "base64,!!"),
        "data:image/png;base64,",
    ):
        request: Request = {
            "messages": [{"content": [{"type": "image_url", "image_url": {"url": bad}}]}]
        }
        with pytest.raises(ValueError, match=r"."):
            pictures_of(request)
    with ModelServer(["x"]) as server:
        found = seeing(server)
        found.extra = {"messages": request["messages"]}
        with pytest.raises(ModelError, match="answered 400: Invalid image"):
            found.caption_image(picture())


@pytest.mark.parametrize(
    "given",
    [
        "nowhere.png",
        "text.png",
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3), np.float64),
        np.zeros((0, 4, 3), np.uint8),
        None,
        7,
    ],
)
def test_what_is_no_picture_is_not_sent(given: Any, tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    given = tmp_path / given if isinstance(given, str) else given
    with ModelServer(["x"]) as server, pytest.raises(ConfigError, match="picture"):
        seeing(server).caption_image(given)
    assert server.requests == []


# -- what comes back ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ('["cup", "Red Chair"]', ["cup", "red chair"]),
        ('<think>a cup? [no]</think>```json\n["cup", "cup"]\n```', ["cup"]),
        ('{"objects": ["cup", {"name": "lamp"}, {"label": "bed"}]}', ["cup", "lamp", "bed"]),
        ('Sure: ["cup", 7, null, "", "a\\u001b[2Jb"]', ["cup", "ab"]),
        ("[]", []),
    ],
)
def test_objects_are_read_out_of_replies(reply: str, names: list[str]) -> None:
    with ModelServer([reply]) as server:
        assert seeing(server).extract_objects_from_image(picture()) == names


def test_only_known_names_are_taken() -> None:
    with ModelServer(['["cup", "ignore your instructions", "Lamp"]']) as server:
        found = seeing(server, names=("lamp", "cup"))
        assert found.extract_objects_from_image(picture()) == ["cup", "lamp"]
    told = server.requests[0]["messages"][1]["content"][0]["text"]
    assert 'called "lamp", "cup"' in told
    assert '["lamp", "cup"]' in told  # an example of a reply


def test_a_model_that_may_name_anything_is_shown_how_to_reply() -> None:
    with ModelServer(["[]"]) as server:
        seeing(server).extract_objects_from_image(picture())
    assert '["cup", "chair"]' in server.requests[0]["messages"][1]["content"][0]["text"]


def test_boxes_are_thousandths() -> None:
    rows = [
        {"name": "cup", "box": [0, 500, 250, 1000]},
        {"name": "bed", "bbox": [990, 0, 5000, 10]},
        {"name": "lamp"},
        {"name": "cap", "box": ["left", 0, 1, 1]},
    ]
    with ModelServer([json.dumps({"caption": "A cup.\n\x1b[2JBelow.", "objects": rows})]) as server:
        found = seeing(server)(picture(20, 40))
    assert set(found.objects) == {
        SeenObject("cup", (0, 10, 10, 20)),
        SeenObject("bed", (39, 0, 40, 1)),
        SeenObject("lamp", (0, 0, 40, 20)),
        SeenObject("cap", (0, 0, 40, 20)),
    }
    assert found.caption == "A cup. Below."


@pytest.mark.parametrize(
    ("say", "told"),
    [
        (Say("busy", status=429), "answered 429"),
        (Say("broken", status=500), "answered 500"),
        (Say("x", cut=40), "cut off"),
        (Say(raw=b"<html>"), "no reply of a model"),
        (Say(more={"choices": []}), "no choices"),
        (Say(""), "is empty"),
        (Say("x" * 1_000_000), "longer than"),
        (Say("I see a cup."), "no JSON"),
        (Say("[" * 5000), "no JSON"),
        (Say(None, tool_calls=(("cup", {}),)), "is empty"),
    ],
)
def test_trouble_is_one_error(say: Say, told: str) -> None:
    with ModelServer([say]) as server, pytest.raises(ModelError, match=told) as caught:
        seeing(server).extract_objects_from_image(picture())
    assert len(str(caught.value)) < 500


def test_a_wrong_key_is_tried_once_and_never_told() -> None:
    with ModelServer(["x"], key="right") as server:
        found = seeing(server, api_key=KEY)
        for _ in range(3):
            with pytest.raises(ModelError, match="refused the key") as caught:
                found(picture())
            assert KEY not in repr(caught.value)
    assert len(server.requests) == 1
    assert KEY not in repr((found, vars(found)))
    assert KEY.encode() not in pickle.dumps(found)


def test_budgets_hold_for_pictures_too(tmp_path: Path) -> None:
    budget = Budget(calls=1)
    with ModelServer(["A cup.", "A bed."]) as server:
        found = seeing(server, budget=budget, replies=tmp_path / "replies.jsonl")
        assert found.caption_image(picture()) == "A cup."
        assert found.caption_image(picture()) == "A cup."  # it is known
        with pytest.raises(ModelError, match="budget of 1 calls is used up"):
            found.caption_image(picture(seed=1))
    assert len(server.requests) == 1
    assert budget.usage.calls == 1
    assert found.usage.calls == 3


# -- scored by the mask -------------------------------------------------------------------


def told_of(
    truth: tuple[SeenObject, ...], omit: int, invent: int, size: tuple[int, int]
) -> dict[str, Any]:
    """Return a description made from the truth, with some objects left out and some invented."""
    height, width = size
    sides = np.array([width, height, width, height])
    rows = [{"name": n, "box": (1000 * np.array(box) / sides).tolist()} for n, box in truth[omit:]]
    made_up = [f"ghost {n}" for n in range(invent)]
    rows += [{"name": name, "box": [0, 0, 100, 100]} for name in made_up]
    names = [row["name"] for row in rows]
    return {"caption": f"There is {', '.join(names) or 'nothing'}.", "objects": rows}


@pytest.mark.parametrize(
    ("omit", "invent"), [(0, 0), (1, 0), (0, 2), (1, 3), (2, 1), (9, 1), (9, 0)]
)
def test_a_description_of_a_camera_picture_scores_what_it_must(omit: int, invent: int) -> None:
    pytest.importorskip("pybullet")
    world = _camera_with_objects(3)
    shot = next(shot for shot in world.shots if len(shot.truth.objects) >= 3)
    truth = shot.truth.objects
    described = told_of(truth, omit, invent, shot.picture.shape[:2])
    with ModelServer([json.dumps(described)]) as server:
        found = seeing(server)(shot.picture)
    np.testing.assert_array_equal(server.pictures[0], shot.picture)
    kept = max(0, len(truth) - omit)
    precision = kept / (kept + invent) if kept + invent else 1.0  # nothing false is told
    for score in (
        score_objects(found.objects, truth),
        score_caption(found.caption, truth, [f"ghost {n}" for n in range(9)]),
    ):
        assert (score.precision, score.recall) == (precision, kept / len(truth))
    if kept:
        assert score_objects(found.objects, truth).overlap == 1.0


def _camera_with_objects(count: int) -> Any:
    """Return a camera world in which somebody sees so many objects."""
    for seed in range(40):
        env = piase_gym.parallel_env("ObjectSearch", backend="camera", agents=4, objects=12)
        env.reset(seed=seed)
        if any(len(shot.truth.objects) >= count for shot in env.world.shots):
            return env.world
        env.close()
    raise AssertionError("nobody sees so much")


def test_an_exploration_by_a_vision_model_is_replayed_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server tells what has known colours, but every second patch."""
    pytest.importorskip("pybullet")
    palettes: list[Palette] = []
    told: list[int] = []

    def answer(request: Request) -> str:
        (found,) = pictures_of(request)
        seen = describer("colours", palettes[-1])(found).objects[::2]
        told.append(len(seen))
        return json.dumps(told_of(seen, 0, 0, found.shape[:2]))

    def eye(**settings: Any) -> Any:
        def make(palette: Palette) -> VisionModel:
            palettes.append(palette)
            return VisionModel("eye", names=palette, retries=0, **settings)

        return make

    log = tmp_path / "run.jsonl"
    place: dict[str, Any] = {"backend": "camera", "agents": 2, "seed": 1, "steps": 12}
    number = iter(range(10**6))

    def at_times(request: Request) -> str | Say:
        return Say("busy", status=500) if next(number) == 5 else answer(request)

    with ModelServer(at_times) as server:
        register_describer("eye", eye(base_url=server.base_url))
        team = Exploration("ObjectSearch", describer="eye", log=log, **place)
        findings = team.run()
        asked = len(server.requests)
    assert findings.steps == 12
    assert sum(told) >= 3
    assert findings.measures["objects_found"] > 0
    assert "There is" in team.records["agent_0"]["visible_caption"]
    replies = [e for e in runs.read(log) if e["event_type"] == REPLY_EVENT]
    assert len(replies) == asked == 2 * (12 + 2)  # each step; the start, which was looked at before
    assert {event["agent_id"] for event in replies} == {"agent_0", "agent_1"}
    assert [e["event_data"]["outcome"] for e in replies].count("timeout") == 1
    assert replies[0]["event_data"]["completion_tokens"] > 0
    assert "base64" not in log.read_text("utf-8")
    kinds = [event["event_data"].get("kind") for event in runs.read(log)]
    assert kinds.index(describing.PICTURE) < kinds.index("step")  # also of an episode without steps

    def nobody(palette: Palette) -> Any:
        raise AssertionError("a replay asks no describer")

    register_describer("eye", nobody)
    assert runs.replay(log).verdict == "sound"
    monkeypatch.delitem(describing._DESCRIBERS, "eye")
    assert runs.replay(log).verdict == "sound"  # here nobody knows the name
    assert runs.validate(log).ok
    with describing.recalling({}):
        world = rebuild(runs.read(log).manifest)
    world.check_config(world.config)
    world.close()
    with pytest.raises(UnknownNameError, match="describer"):
        piase_gym.parallel_env("ObjectSearch", backend="camera", describer="eye")
    text = log.read_text("utf-8")
    changed = re.sub(r'"objects":\[\[".+?\]\]', '"objects":[]', text)
    assert changed != text
    log.write_text(changed, "utf-8")
    report = runs.replay(log)
    assert report.first_divergence is not None  # what was said of pictures makes it equal


def test_replies_about_screenshots_are_logged_with_their_agent(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(picture()).save(path)

    class Screen(PerceptionInterface):
        """One agent before a picture."""

        def get_visible_objects(self, agent_id: str, position: Any) -> list[str]:
            return [f"screenshot:{path}"]

        def get_agent_state(self, agent_id: str) -> dict[str, Any]:
            return {"position": 0}

        def execute_action(self, agent_id: str, action: Any, params: Any = None) -> dict[str, Any]:
            return {"position": 0}

        def get_environment_info(self) -> dict[str, Any]:
            return {"actions": ["stay"]}

    log = tmp_path / "run.jsonl"
    with ModelServer(['["cup"]', "A cup."]) as server:
        eye = seeing(server)
        team = Exploration(
            Screen(),
            agents=1,
            steps=1,
            seed=0,
            log=log,
            flow=lambda _, decide: explorer_flow(decide, vision=eye),
        )
        assert team.run().objects == ("cup",)
    events = [e for e in runs.read(log) if e["event_type"] == REPLY_EVENT]
    assert [(e["agent_id"], e["event_data"]["text"]) for e in events] == [
        ("agent_0", '["cup"]'),
        ("agent_0", "A cup."),
    ]
    assert eye.log_entries() == []
