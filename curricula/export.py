"""Writes curricula: as short JSON, as the prompt suite reads them, and the schema of both."""

from __future__ import annotations

import json
from typing import Any

from piase_gym.curricula.schema import CurriculumStep, DevelopmentalCurriculum
from piase_gym.curricula.validation import NULLABLE

MARK = "__type__"
_SUITE_HEAD = ("name", "description", "target_developmental_stage", "author", "version")
_SUITE_STEP = ("order", "name", "prompt_reference", "conditions", "notes")
"""Fields that the suite's own reader expects to be there, null or not."""


def plain(curriculum: DevelopmentalCurriculum) -> dict[str, Any]:
    """Return a curriculum as JSON-able data, without fields that have their default value."""
    value = curriculum.model_dump(mode="json", exclude_defaults=True, exclude={"steps"})
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in curriculum.steps]
    return {**value, "steps": steps}


def to_prompt_suite(curriculum: DevelopmentalCurriculum) -> dict[str, Any]:
    """Return a curriculum as the prompt suite writes them, marked with ``__type__``.

    Nothing is left out; the suite keeps fields that it does not know.
    """
    head = {MARK: "DevelopmentalCurriculum"}
    head |= {name: getattr(curriculum, name) for name in _SUITE_HEAD}
    steps = [_piapes_step(step) for step in curriculum.steps]
    return {**head, **plain(curriculum), "steps": steps}


def _piapes_step(step: CurriculumStep) -> dict[str, Any]:
    """Return a step as the prompt suite writes it."""
    own: dict[str, Any] = {MARK: "CurriculumStep"}
    own |= {name: getattr(step, name) for name in _SUITE_STEP}
    own["prompt_reference"] = step.prompt_reference or ""
    rest = step.model_dump(mode="json", exclude_defaults=True)
    return {**own, **{name: entry for name, entry in rest.items() if name not in own}}


def dumps(curriculum: DevelopmentalCurriculum, *, marked: bool = False) -> str:
    """Return a curriculum as JSON text.

    Args:
        curriculum: The curriculum.
        marked: Whether to write it as the prompt suite does.
    """
    value = to_prompt_suite(curriculum) if marked else plain(curriculum)
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of curriculum files (draft 2020-12), for editors."""
    schema = DevelopmentalCurriculum.model_json_schema()
    step = schema["$defs"]["CurriculumStep"]["properties"]
    step["environment_config"] = {
        **step["environment_config_overrides"],
        "description": "another name for environment_config_overrides",
    }
    for properties, name in ((step, "CurriculumStep"), (schema["properties"], schema["title"])):
        properties[MARK] = {"const": name, "description": "mark of the prompt suite"}
    for properties in (step, schema["properties"]):
        for name in NULLABLE & properties.keys():
            value, null = properties[name], {"type": "null"}
            if null in value.get("anyOf", ()):
                continue
            annotations = {
                k: value.pop(k) for k in ("title", "description", "default") if k in value
            }
            properties[name] = {"anyOf": [value, null], **annotations}
    schema["properties"]["version"]["anyOf"].append({"type": "number"})
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **schema, "title": "piase_gym curriculum"}
