"""JSON Schemas of models that also take shorter forms, so that editors take them too.

A model says in `LISTED` which of its lists may be given as one entry, and in `SHORT` what may
stand for the whole of it; its validators read these forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class Lenient(BaseModel):
    """A model whose JSON Schema has its shorter forms.

    Attributes:
        LISTED: Fields that are lists, of which a single entry will do.
        SHORT: The JSON Schema of what may stand for the whole model, if anything may.
    """

    LISTED: ClassVar[tuple[str, ...]] = ()
    SHORT: ClassVar[Mapping[str, Any] | None] = None

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
