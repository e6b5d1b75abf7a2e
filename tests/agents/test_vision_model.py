"""Pictures for vision models, and what is read of their replies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from piase_gym.agents.llm.client import Reply
from piase_gym.agents.llm.vision import MOST_ENTRIES, VisionModel, _box, _data, _image
from piase_gym.core.answers import MAX_REPLY
from piase_gym.errors import ConfigError, ModelError
from tests import probes

probes.register()


def test_boxes_are_read_in_thousandths() -> None:
    assert _box([0, 250, 500, 1000], 80, 40) == (0, 10, 40, 40)
    assert _box([10, 10, 990, 990], 80, 40) == (0, 0, 80, 40)
    assert _box((1000 / 3, 0, 2000 / 3, 500), 3, 2) == (1, 0, 2, 1)
    for wrong in ([1, 2, 3], None, [1, 2, 3, "4"], [1, 2, 3, 1e9], [True, 0, 1, 1]):
        assert _box(wrong, 80, 40) == (0, 0, 80, 40)


def test_the_json_of_a_reply_is_found() -> None:
    assert _data('so: {"a": 1} [2]', "[") == [2]
    assert _data('so: {"a": 1} [2]', "{") == {"a": 1}
    assert _data("[broken {}", "[") == {}
    with pytest.raises(ModelError, match="the reply has no JSON: 'nothing'"):
        _data("nothing", "[")


def test_pictures_have_three_colours() -> None:
    array = np.zeros((2, 3, 3), np.uint8)
    assert _image(array).size == (3, 2)
    assert _image(Image.new("L", (3, 2))).mode == "RGB"
    wrong: Any
    for wrong in (array[..., :2], array[0], array.astype(np.int64), array[:0]):
        with pytest.raises(ConfigError, match="a picture has shape"):
            _image(wrong)


def vision(reply: str, names: Any = ()) -> tuple[VisionModel, list[Any]]:
    """Return a vision model that always answers the same, and what it was asked."""
    asked: list[Any] = []
    model = VisionModel("eye", "http://127.0.0.1:1/v1", names=names)

    def reply_to(request: Any, *salt: Any) -> tuple[str, Reply]:
        asked.append(request)
        return "key", Reply(reply)

    model._reply_to = reply_to  # type: ignore[method-assign]
    return model, asked


def text_of(asked: list[Any]) -> str:
    """Return the last question about a picture."""
    return str(asked[-1]["messages"][1]["content"][0]["text"])


PICTURE = np.zeros((20, 40, 3), np.uint8)


def test_a_model_is_shown_an_example_of_its_own_names() -> None:
    model, asked = vision('["Cup", "cup", "hat"]', ["Cup", "Fork", "Spoon"])
    assert model.extract_objects_from_image(PICTURE) == ["cup"]
    assert 'such as ["cup", "fork"];' in text_of(asked)
    assert ' that are called "cup", "fork", "spoon". Answer' in text_of(asked)
    model, asked = vision('["Cup", "cup", "red  Hat"]')
    assert model.extract_objects_from_image(PICTURE) == ["cup", "red hat"]
    assert 'such as ["cup", "chair"];' in text_of(asked)
    assert "objects in this picture. Answer" in text_of(asked)


def test_a_caption_is_one_line() -> None:
    model, _ = vision('``` "A  cup\non a table." ```')
    assert model.caption_image(PICTURE) == "A cup on a table."
    model, _ = vision(" ")
    with pytest.raises(ModelError, match="the reply is empty"):
        model.caption_image(PICTURE)
    model, _ = vision("x" * (MAX_REPLY + 1))
    with pytest.raises(ModelError, match="the reply is longer than"):
        model.caption_image(PICTURE)


def test_a_description_has_boxes_and_a_caption() -> None:
    model, _ = vision('{"objects": [{"label": "Cup", "bbox": [0, 0, 500, 500]}, {"name": ""}]}')
    found = model(PICTURE)
    assert found.caption == "cup"
    assert [(thing.name, thing.box) for thing in found.objects] == [("cup", (0, 0, 20, 10))]
    model, _ = vision('["hat"]')
    assert [thing.box for thing in model(PICTURE).objects] == [(0, 0, 40, 20)]
    (event, entry) = model.log_entries()[0]
    assert event == "LLM_REPLY_RECEIVED"
    assert (entry["outcome"], entry["text"], entry["request"]) == ("ok", '["hat"]', "key")
    assert model.log_entries() == []


def test_the_last_replies_are_kept_for_logs() -> None:
    model, _ = vision('["hat"]')
    for width in range(1, MOST_ENTRIES + 3):
        model._note(f"picture {width}", "key", Reply("x"))
    kept = [entry["question"] for _, entry in model.log_entries()]
    assert kept == [f"picture {width}" for width in range(3, MOST_ENTRIES + 3)]
