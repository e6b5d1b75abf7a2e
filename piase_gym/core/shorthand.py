"""Models of files that users write: they never change, and accept shorter forms of some fields.

A model says in `LISTED` which of its lists may be given as one entry, and in `SHORT` what may
stand for the whole model, so that its JSON Schema and editors accept these forms; its validators
read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, field_validator
from pydantic_core import CoreSchema


class ShorthandModel(BaseModel):
    """A model that never changes, and whose JSON Schema has its shorter forms.

    Attributes:
        LISTED: Fields that are lists, for which a single entry will do.
        SHORT: The JSON Schema of what may stand for the whole model, if anything may.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    LISTED: ClassVar[tuple[str, ...]] = ()
    SHORT: ClassVar[Mapping[str, Any] | None] = None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return itself: copies of a world share it."""
        return self

    @field_validator("response", "shaping", "goals", mode="before", check_fields=False)
    @classmethod
    def _list(cls, value: Any) -> Any:
        return as_list(value)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Add the shorter forms to what pydantic makes of the model."""
        found = handler(core)
        whole = handler.resolve_ref_schema(found)
        for name in set(cls.LISTED) & set(whole.get("properties", {})):
            field = whole["properties"][name]
            if "items" in field:
                kept = {key: field.pop(key) for key in ("title", "description") if key in field}
                many = dict(field)
                field.clear()
                field.update({**kept, "anyOf": [many["items"], many]})
        if cls.SHORT is not None and "anyOf" not in whole:
            inner = dict(whole)
            whole.clear()
            whole.update({"anyOf": [dict(cls.SHORT), inner]})
        return found


def as_list(value: Any) -> Any:
    """Read one entry as a list of one."""
    return [value] if isinstance(value, Mapping | ShorthandModel) else value
