"""What every test of agents has: no key, no proxy and no client of another test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from piase_gym.agents.llm.client import KEY_ENV, client_of


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", KEY_ENV, "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield
    client_of.cache_clear()
