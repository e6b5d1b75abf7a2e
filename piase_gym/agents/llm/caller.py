"""What asks a model: where it is, what a call may take, what is known already, what was spent."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict

import orjson

from piase_gym.agents.llm.budget import Budget, Prices, Usage
from piase_gym.agents.llm.client import (
    Client,
    Failure,
    Reply,
    check_key,
    check_url,
    client_of,
    find_key,
    size_of,
)
from piase_gym.agents.llm.replies import Replies, ReplyFile
from piase_gym.core.answers import plain
from piase_gym.core.commands import Outcome
from piase_gym.core.digest import digest_json
from piase_gym.errors import ConfigError, need

OF_TOOLS = ("tool_choice", "parallel_tool_calls")
"""Further fields that servers take with tools only, so not where a model sums up."""
PREFIX = "llm"
"""The prefix of the names of language models: ``llm:MODEL@URL``."""
SHORT = 16
"""Keys with fewer characters are not real ones, but are sent to your own servers."""


@dataclass(frozen=True)
class Secret:
    """A key that is never shown; in a pickle ``None`` stands for it."""

    value: str | None = field(repr=False)


class CallSettings(TypedDict, total=False):
    """The settings of a `ModelCaller`, for those who pass them on."""

    key_env: str | None
    temperature: float | None
    max_tokens: int | None
    extra: Mapping[str, Any] | None
    timeout: float
    retries: int
    budget: Budget | None
    prices: Prices | None
    replies: Replies | str | os.PathLike[str] | None


class ModelCaller:
    """Asks one model behind an OpenAI-compatible endpoint, within a budget.

    Args:
        model: The name of the model.
        base_url: The address of the endpoint; ``None`` asks OpenAI.
        api_key: The key; by default that of ``OPENAI_API_KEY``, or of `key_env`. It never appears
            in a log, a state, a pickle, or a message. Copies have it; what was pickled, as for
            another process, takes it from the environment, or says that it has none.
        key_env: The environment variable that has the key.
        temperature: The sampling temperature; ``None`` leaves it to the server.
        max_tokens: Most tokens of an answer; ``None`` leaves it to the server.
        extra: Further fields of each request, JSON-able; replies are not read as streams.
        timeout: Seconds that one try may take.
        retries: How often a call that failed for a temporary reason is tried again.
        budget: What may be spent; others may share it.
        prices: Prices per million tokens of prompts and of answers, if there is no budget.
        replies: Replies that are known already, or the path of a file to keep them in.

    Attributes:
        usage: What was used, including known replies.

    Raises:
        ConfigError: If an argument is not allowed.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        key_env: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
        extra: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        budget: Budget | None = None,
        prices: Prices | None = None,
        replies: Replies | str | os.PathLike[str] | None = None,
    ) -> None:
        """Check everything; nothing is asked yet."""
        if not isinstance(model, str) or not model or plain(model) != model or " " in model:
            raise ConfigError(f"a model is a name without spaces, not {model!r:.80}")
        self.model, self.base_url = model, check_url(base_url)
        self.key_env = key_env
        self._key = None if api_key is None else Secret(check_key(api_key, "api_key"))
        self.temperature, self.max_tokens = temperature, max_tokens
        self.extra, self.timeout, self.retries = _fields(extra), timeout, retries
        self.budget = Budget(prices=prices) if budget is None else budget
        path = isinstance(replies, str | os.PathLike)
        self.replies: Replies | None = ReplyFile(replies) if path else replies  # type: ignore[arg-type, assignment]
        self.usage = Usage()
        self._check_call()

    def _check_call(self) -> None:
        """Raise `ConfigError` if a setting is not allowed."""
        check_number("temperature", self.temperature, 0, 10, optional=True)
        check_number("max_tokens", self.max_tokens, 1, 10**7, whole=True, optional=True)
        check_number("timeout", self.timeout, 1e-3, 1e5)
        check_number("retries", self.retries, 0, 100, whole=True)
        if not isinstance(self.budget, Budget):
            raise ConfigError(f"budget is a Budget, not {self.budget!r:.60}")
        if not isinstance(self.replies, Replies | None):
            raise ConfigError(f"replies are a path or Replies, not {self.replies!r:.60}")

    @property
    def policy(self) -> str:
        """The name by which others ask the same model."""
        return f"{PREFIX}:{self.model}" + (f"@{self.base_url}" if self.base_url else "")

    def check(self) -> None:
        """Check that the model can be asked, without asking it.

        Raises:
            MissingExtraError: If `openai` is not installed.
            ConfigError: If there is no key, or it stands where logs would show it.
        """
        need("openai", "a language model (llm:MODEL@URL)", "llm")
        self._find_key()

    def _find_key(self) -> str:
        key = self._key.value if self._key else None
        if key is None:
            key = find_key(self.base_url, self.key_env, required=self._key is not None)
        for name in ("model", "base_url", "extra"):
            if len(key) >= SHORT and key in str(getattr(self, name)):  # not "ollama" at ollama:80
                raise ConfigError(f"the {name} has the key in it, which logs would show")
        return key

    def _client(self) -> Client:
        """Return the client, which is shared by all that ask the same endpoint."""
        return client_of(self.base_url, self._find_key(), self.timeout, self.retries)

    def _request(self, messages: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        """Return the body of a call."""
        request: dict[str, Any] = {"model": self.model, "messages": messages}
        for name in ("temperature", "max_tokens"):
            if getattr(self, name) is not None:
                request[name] = getattr(self, name)
        request |= {name: value for name, value in more.items() if value}
        left_out = () if "tools" in {**request, **self.extra} else OF_TOOLS
        extra = {name: value for name, value in self.extra.items() if name not in left_out}
        return {**request, "extra_body": extra} if extra else request

    def _reply_to(self, request: dict[str, Any], *salt: Any) -> tuple[str, Reply | Failure]:
        """Return the digest of a request, and the known or the new reply to it.

        Args:
            request: The body.
            salt: What else an answer depends on, such as which of several equal runs this is.
        """
        key = digest_json([request, *salt])
        reply = self.replies.find(key) if self.replies is not None else None
        if reply is None:
            reply = self._live(request, key)
        self.usage.add(self._spent(reply))
        return key, reply

    def _live(self, request: dict[str, Any], key: str) -> Reply | Failure:
        """Ask the endpoint, if the budget allows it."""
        if self.replies is not None and self.replies.offline:
            return Failure(Outcome.REFUSED, "there is no recorded reply to this", final=True)
        size, most = size_of(request), self.max_tokens or 1024
        lack = self.budget.reserve(size, most)
        if lack is not None:
            return Failure(Outcome.REFUSED, lack, final=True)
        reply: Reply | Failure = Failure(Outcome.REFUSED, "the call was broken off")
        try:
            reply = self._client().ask(request)
        finally:
            self.budget.settle(size, most, self._spent(reply))
        if self.replies is not None and isinstance(reply, Reply):
            self.replies.keep(key, reply)
        return reply

    def _spent(self, reply: Reply | Failure) -> Usage:
        """Return what a call took."""
        if isinstance(reply, Failure):
            return Usage(calls=1, failures=1, seconds=reply.seconds)
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        return Usage(
            calls=1,
            prompt_tokens=prompt,
            completion_tokens=completion,
            estimated=int(reply.estimated),
            cost=self.budget.price(prompt, completion),
            seconds=reply.seconds,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy in this process: key, budget and known replies are shared."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin.usage = copy.copy(self.usage)
        return twin

    def __copy__(self) -> Self:
        """Copy as `copy.deepcopy` does."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the key, but not that there was one."""
        return {**vars(self), "_key": self._key and Secret(None)}


def _fields(extra: Any) -> dict[str, Any]:
    """Return the further fields of requests, checked."""
    try:
        found: Any = orjson.loads(orjson.dumps({} if extra is None else extra))
    except TypeError as error:
        raise ConfigError(f"extra cannot be written as JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"extra is a mapping of fields, not {extra!r:.60}")
    for name in ("model", "messages"):
        if name in found:
            raise ConfigError(f"extra has {name!r}, which is no further field; leave it out")
    if found.get("stream"):
        raise ConfigError("extra has 'stream', but replies are not read as streams; leave it out")
    return found


def check_number(
    name: str, value: Any, low: float, high: float, whole: bool = False, optional: bool = False
) -> None:
    """Raise `ConfigError` unless a setting is a number in a range."""
    if value is None and optional:
        return
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "an integer" if whole else "a number"
        raise ConfigError(f"{name} is {kind} from {low:g} to {high:g}, not {value!r:.60}")
