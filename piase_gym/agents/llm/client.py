"""Asks an OpenAI-compatible endpoint, and turns whatever comes of it into a plain value.

Servers fail in many ways: they are down, slow or overloaded; they cut replies off, or send none, or
nonsense. Each is a `Failure` with one of the outcomes that commands have, and never an exception.
No message that leaves this module contains any part of a key.
"""

from __future__ import annotations

import functools
import json
import os
import re
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import orjson

from piase_gym.core.answers import plain
from piase_gym.core.commands import Outcome
from piase_gym.errors import ConfigError, need

KEY_ENV = "PIASE_KEY_ENV"
"""The environment variable that names the variable with the key, as ``--key-env`` does."""
USUAL_KEY = "OPENAI_API_KEY"
NO_KEY = "none"
"""What is sent as a key to your own servers, which ask for none."""
MAX_BYTES = 4_000_000
"""Longest reply that is accepted from a server."""
LONGEST_WAIT = 20.0
"""Most seconds before a call is tried again."""
MOST_OPEN = 256
"""How many abandoned calls a server may keep open before nothing more is asked."""
MOST_TOKENS = 10**9
"""A server that reports more tokens for a call is not believed."""
INSTEAD = {"max_tokens": "max_completion_tokens", "temperature": None}
"""What is sent to models that do not take a field, as OpenAI's that reason, in its place."""
_NOT_TAKEN = re.compile(r"n[o']t support|unsupported|deprecated", re.IGNORECASE)
"""What proxies, which leave out the code, say of such a field."""
PART = 8
"""This many consecutive characters of a key are hidden in what a server says about an error."""


@dataclass(frozen=True)
class Failure:
    """Why there is no reply.

    Attributes:
        outcome: ``timeout`` if it may be worth another try later, ``refused`` if the server
            refuses, ``too_long``, or ``unparsable`` for something that is not a reply at all.
        message: A sentence, without any part of a key.
        final: Whether the next call will fail in the same way, as with a wrong key.
        seconds: How long it took, all tries together.
    """

    outcome: Outcome
    message: str
    final: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        text: What it wrote.
        tool_calls: Names and arguments, as they came.
        thinking: What it thought, if the server reports that separately.
        prompt_tokens: Tokens of the prompt.
        completion_tokens: Tokens of the answer.
        estimated: Whether the server did not report these, so that bytes were counted.
        seconds: How long it took, all tries together.
        model: The model that answered, if that is not the one that was asked.
        cut: Whether it is as long as `max_tokens`, or the server, allows.
    """

    text: str = ""
    tool_calls: tuple[tuple[str, Any], ...] = ()
    thinking: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    seconds: float = 0.0
    model: str = ""
    cut: bool = False


Tried = Reply | tuple[Failure, float | None]
"""The result of one call: see `Client`."""


def find_key(base_url: str | None, key_env: str | None = None, required: bool = False) -> str:
    """Return the key for an address, from the environment.

    Args:
        base_url: The address.
        key_env: The environment variable that has the key.
        required: Whether there was a key, which did not come along with a pickle.

    Raises:
        ConfigError: If a variable was named and has none, if OpenAI itself is asked without, or if
            a key is required.
    """
    name = key_env or os.environ.get(KEY_ENV)
    key = os.environ.get(name or USUAL_KEY, "")
    if key:
        return check_key(key, name or USUAL_KEY)
    if name:
        raise ConfigError(f"the environment variable {name} has no key for the language model")
    if required:
        raise ConfigError(
            f"the key of the language model was left out of its pickle: set {USUAL_KEY}, or name "
            "another variable as key_env"
        )
    if base_url is None:
        raise ConfigError(
            f"there is no key for the language model: set {USUAL_KEY}, or name another variable "
            "with --key-env"
        )
    return NO_KEY


def check_key(key: object, where: str) -> str:
    """Return a key.

    Raises:
        ConfigError: If it is none, as with the line break of the file that it was read from.
    """
    if not isinstance(key, str) or not key:
        raise ConfigError(f"the key in {where} is a text that is not empty")
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f"the key in {where} has characters that no key has")
    return key


def check_url(base_url: object) -> str | None:
    """Return an address without a slash at its end.

    Raises:
        ConfigError: If it is none, or has a password, a query or a fragment, which logs would show.
    """
    if base_url is None:
        return None
    try:
        parts = urlsplit(base_url if isinstance(base_url, str) else "")
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        shown = "" if isinstance(base_url, str) and "@" in base_url else f", not {base_url!r:.80}"
        raise ConfigError(f"a base_url is such as http://127.0.0.1:8000/v1{shown}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            f"the base_url of {parts.hostname} has a user, a query or a fragment; keys come from "
            f"the environment: {USUAL_KEY}, or the variable that --key-env names"
        )
    return str(base_url).rstrip("/")


class Client:
    """Asks one endpoint; it may be used from many threads at once.

    Args:
        base_url: The address, such as ``http://127.0.0.1:8000/v1``; ``None`` asks OpenAI.
        key: The key.
        timeout: Seconds that one try may take, from first to last byte.
        retries: How often a call that failed for a temporary reason is tried again.

    Raises:
        MissingExtraError: If `openai` is not installed.
    """

    def __init__(self, base_url: str | None, key: str, timeout: float, retries: int) -> None:
        openai = need("openai", "a language model (llm:MODEL@URL)", "llm")
        self._openai, self._key = openai, key
        self._timeout, self._retries = timeout, retries
        self._open: list[threading.Thread] = []
        self._not_taken: set[tuple[str, str]] = set()
        self.where = base_url or "https://api.openai.com/v1"
        self._client = openai.OpenAI(
            base_url=self.where,
            api_key=key,
            timeout=timeout,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(follow_redirects=False, timeout=timeout),
        )
        self._create = self._client.chat.completions.with_streaming_response.create  # imports now
        weakref.finalize(self, self._client.close)

    def __repr__(self) -> str:
        """Name the address; the key stays out of it."""
        return f"<Client of {self.where}>"

    def ask(self, request: Mapping[str, Any]) -> Reply | Failure:
        """Send a chat completions request, and try again if it fails for a temporary reason."""
        start, number = time.perf_counter(), 0
        while True:
            found = self._try(request)
            seconds = round(time.perf_counter() - start, 6)
            if isinstance(found, Reply):
                return _counted(found, request, seconds)
            failure, wait = found
            if wait is None or number >= self._retries:
                tries = f" after {number + 1} tries" if number else ""
                return replace(failure, message=failure.message + tries, seconds=seconds)
            time.sleep(min(max(wait, 0.25 * 2**number), LONGEST_WAIT))
            number += 1

    def _try(self, request: Mapping[str, Any]) -> Tried:
        """Make one call in a thread of its own, and abandon the thread once its time is up.

        The library's limits apply to each read, and a server may send byte after byte.
        """
        found: list[Tried] = []
        self._open = [call for call in self._open if call.is_alive()]
        if len(self._open) >= MOST_OPEN:
            text = f"{self.where} keeps {len(self._open)} calls open that were given up"
            return Failure(Outcome.TIMEOUT, text), None
        late = Failure(Outcome.TIMEOUT, f"{self.where} gave no answer in {self._timeout:g} s")
        thread = threading.Thread(
            target=lambda: found.append(self._call(request, late)), name="llm-call", daemon=True
        )
        thread.start()
        thread.join(self._timeout)
        if found:
            return found[0]
        self._open = [*self._open, thread]
        return late, 0.0

    def _call(self, request: Mapping[str, Any], late: Failure) -> Tried:
        """Make one call, and return its reply, or its failure and how long to wait before the next.

        The wait is ``None`` if there is no use in trying again.
        """
        openai, start, known = self._openai, time.monotonic(), {*self._not_taken}
        try:
            with self._send(request) as response:
                body, size = [], 0
                for part in response.iter_bytes():
                    body.append(part)
                    size += len(part)
                    if size > MAX_BYTES:
                        text = f"the reply of {self.where} has more than {MAX_BYTES:,} bytes"
                        return Failure(Outcome.TOO_LONG, text), None
                    if time.monotonic() - start > self._timeout:
                        return late, 0.0
            return self._read(b"".join(body), request)
        except openai.APIStatusError as error:
            if self._can_do_without(error, request, known):
                return self._call(request, late)
            return self._status(error)
        except openai.APITimeoutError:
            return late, 0.0
        except openai.APIConnectionError as error:
            text = f"{self.where} cannot be reached ({self._clean(error.__cause__ or error)})"
            return Failure(Outcome.TIMEOUT, text), 0.0
        except Exception as error:  # from the underlying library, whose name differs by version
            if "Timeout" in type(error).__name__:
                return late, 0.0
            text = f"the reply of {self.where} was cut off ({type(error).__name__})"
            return Failure(Outcome.TIMEOUT, text), 0.0

    def _send(self, request: Mapping[str, Any]) -> Any:
        """Send a request; its body is passed as it is, as the library would check every message."""
        body = {name: value for name, value in request.items() if name != "model"}
        body |= body.pop("extra_body", {})
        for name, other in INSTEAD.items():
            if (request["model"], name) in self._not_taken and name in body:
                value = body.pop(name)
                body |= {} if other is None else {other: value}
        return self._create(model=request["model"], messages=[], extra_body=body)

    def _can_do_without(
        self, error: Any, request: Mapping[str, Any], known: set[tuple[str, str]]
    ) -> bool:
        """Return whether an error is about a field that was not known not to be taken."""
        said, param = str(_error_message(error)), error.param
        if error.status_code == 400 and not param and _NOT_TAKEN.search(said):
            named = [name for name in INSTEAD if re.search(rf"\b{name}\b", said)]
            param = next((name for name in named if (request["model"], name) not in known), None)
        elif not str(error.code).startswith("unsupported_"):
            return False
        field, unsupported = (request["model"], param), param in INSTEAD
        self._not_taken |= {field} if unsupported else set()
        return unsupported and field not in known

    def _status(self, error: Any) -> tuple[Failure, float | None]:
        """Return what an error code means."""
        code = error.status_code
        if code in (401, 403):  # what the server says may have the key in it
            text = f"{self.where} refused the key ({code})"
            return Failure(Outcome.REFUSED, text, final=True), None
        said = f"{self.where} answered {code}: {self._clean(_error_message(error))}"
        if code < 400:  # what is asked goes where the user said, and nowhere else
            there = self._clean(error.response.headers.get("location", "nowhere"))
            said = f"{self.where} answered {code}: it sends us on to {there}; give the address"
            return Failure(Outcome.REFUSED, said, final=True), None
        if code == 404:
            said += "" if urlsplit(self.where).path else "; most addresses end in /v1"
            return Failure(Outcome.REFUSED, said, final=True), None
        if code == 429 and "insufficient_quota" in str(getattr(error, "code", "")):
            return Failure(Outcome.REFUSED, said, final=True), None
        if code in (408, 409, 425, 429) or code >= 500:
            return Failure(Outcome.TIMEOUT, said), _retry_after(error.response)
        return Failure(Outcome.REFUSED, said), None

    def _clean(self, message: object) -> str:
        """Return a message in one line, without any part of the key."""
        text = self._scrub(" ".join(plain(str(message)[:MAX_BYTES]).split())[:2000])
        if self._secret:
            shown = list(text)
            for start in range(len(text) - PART + 1):
                if text[start : start + PART] in self._key:
                    shown[start : start + PART] = "*" * PART
            text = re.sub(r"\*{8,}", "[key]", "".join(shown))
        return text[:200] or "it did not say why"

    @property
    def _secret(self) -> bool:
        """Whether the key is one that nobody may see."""
        return self._key != NO_KEY and len(self._key) >= 6

    def _scrub(self, text: str) -> str:
        """Return a text without the key, even where invisible characters or escapes hide it."""
        if not self._secret:
            return text
        bare = text
        if "\\u00" in text:
            bare = re.sub(r"\\u00([0-7][0-9a-fA-F])", lambda found: chr(int(found[1], 16)), text)
        bare = plain(bare)
        return bare.replace(self._key, "[key]") if self._key in bare else text

    def _scrubbed(self, given: Any) -> Any:
        """Return the arguments of a tool call without the key."""
        if isinstance(given, str):
            return self._scrub(given)
        text = orjson.dumps(given).decode()
        return given if (clean := self._scrub(text)) == text else clean

    def _read(self, body: bytes, request: Mapping[str, Any]) -> Tried:
        """Read the body of a reply."""
        data: Any = None
        try:
            data = _data(body)
            choice, model = data["choices"][0], data.get("model") or request["model"]
            message = choice["message"]
            calls = _calls(message.get("tool_calls"))
            found = Reply(
                self._scrub(_text(message.get("content"))),
                tuple((self._scrub(name), self._scrubbed(given)) for name, given in calls),
                self._scrub(_thought(message)),
                *_tokens(data.get("usage")),
                model="" if model == request["model"] else self._clean(model),
                cut=choice.get("finish_reason") == "length",
            )
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            if isinstance(data, Mapping) and data.get("error"):  # with a code of success
                said = data["error"]
                said = said.get("message", said) if isinstance(said, Mapping) else said
                return Failure(Outcome.TIMEOUT, f"{self.where} answered: {self._clean(said)}"), 0.0
            if isinstance(error, IndexError):
                text = f"the reply of {self.where} has no choices"
            else:
                text = f"what {self.where} sent is no reply of a model"
            return Failure(Outcome.UNPARSABLE, text), 0.0
        refusal = message.get("refusal")
        if refusal or choice.get("finish_reason") == "content_filter":
            text = f"the model declines: {self._clean(refusal or 'its content filter stepped in')}"
            return Failure(Outcome.REFUSED, text), None
        return found


@functools.lru_cache(maxsize=64)
def client_of(base_url: str | None, key: str, timeout: float, retries: int) -> Client:
    """Return the client of an endpoint; all agents that ask the same one share it."""
    return Client(base_url, key, timeout, retries)


def _data(body: bytes) -> Any:
    """Return the JSON of a reply, without bytes and halves of characters that are no Unicode."""
    try:
        return orjson.loads(body)
    except ValueError:
        found = json.loads(body.decode("utf-8-sig", "ignore"))
        return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "ignore"))


def _text(content: Any) -> str:
    """Return the text of a content, which may come in parts."""
    if isinstance(content, str | None):
        return content or ""
    return "".join(str(part.get("text") or "") for part in content)


def _calls(calls: Any) -> list[tuple[str, Any]]:
    """Return the names and arguments of tool calls."""
    parts = [call["function"] for call in calls or ()]
    return [(str(part["name"]), part.get("arguments")) for part in parts]


def _thought(message: Mapping[str, Any]) -> str:
    """Return what a model thought, if its server reports that separately, as text."""
    thoughts = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((thought for thought in thoughts if thought and isinstance(thought, str)), "")


def _tokens(usage: Any) -> tuple[int, int]:
    """Return the token counts that a server reports, or zeros."""
    fields = usage if isinstance(usage, Mapping) else {}
    counts = [fields.get(name) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (n if type(n) is int and 0 <= n <= MOST_TOKENS else 0 for n in counts)
    return prompt, completion


def _counted(reply: Reply, request: Mapping[str, Any], seconds: float) -> Reply:
    """Return a reply with its time, and with estimates of tokens that the server did not report."""
    written = len(f"{reply.text}{reply.thinking}{reply.tool_calls or ''}".encode())
    prompt = reply.prompt_tokens or size_of(request) // 4 + 1
    completion = reply.completion_tokens or (written // 4 + 1 if written else 0)
    counts = prompt, completion
    return replace(
        reply,
        prompt_tokens=prompt,
        completion_tokens=completion,
        estimated=counts != (reply.prompt_tokens, reply.completion_tokens),
        seconds=seconds,
    )


PICTURE = 4000
"""How many bytes a picture counts as where tokens are estimated."""


def size_of(request: Mapping[str, Any]) -> int:
    """Count the bytes of what a model reads: messages, `PICTURE` for each picture, and tools."""
    contents = [message["content"] for message in request["messages"]]
    tools = orjson.dumps(request["tools"]) if request.get("tools") else b""
    return len(tools) + sum(
        len(text.encode()) if isinstance(text, str) else sum(map(_size, text)) for text in contents
    )


def _size(part: Mapping[str, Any]) -> int:
    """Count the bytes of a part of a message."""
    return len(part["text"].encode()) if part["type"] == "text" else PICTURE


def _error_message(error: Any) -> object:
    """Return the message in the body of an error, or what the library makes of it."""
    body = error.body
    if isinstance(body, Mapping):
        return body.get("message") or body.get("detail") or error.message
    return body if isinstance(body, str) and body else error.message


def _retry_after(response: Any) -> float:
    """Return how many seconds a server asks us to wait, which it may give as a date."""
    wait = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(wait))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(wait).timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return 0.0
