"""A stand-in for a language model: an HTTP server on loopback that answers as it is told.

It speaks the chat completions of the OpenAI API, and imitates failures: error codes, and replies
that are cut off, slow, empty or not JSON. So tests of agents and benchmarks of clients need no
model, and ``python -m piase_gym.testing.model_server`` lets anyone try `llm:` names without one.

Example:
    >>> with ModelServer(lambda request: "stay") as server:
    ...     server.base_url.startswith("http://127.0.0.1:")
    True
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import io
import itertools
import json
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Request = Mapping[str, Any]
"""The body of a request: `model`, `messages` and the rest."""


@dataclass(frozen=True)
class Say:
    """An answer, or a failure, of the server.

    Attributes:
        text: What the model writes; ``None`` for a reply without content.
        tool_calls: Its tool calls, as (name, arguments); arguments that are not a string are
            written as JSON.
        status: The status code.
        raw: The whole body instead of a chat completion.
        headers: Further headers.
        delay: Seconds before the answer.
        cut: Bytes of the body after which the connection is closed; ``None`` sends all.
        drip: Seconds between the bytes of the body; 0 sends it at once.
        head_drip: Seconds between the bytes of the head.
        more: Further fields of the reply, or replacements for the usual ones.
    """

    text: str | None = ""
    tool_calls: tuple[tuple[str, Any], ...] = ()
    status: int = 200
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    drip: float = 0.0
    head_drip: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)

    def body(self, request: Request, number: int) -> bytes:
        """Return the body of the reply to a request."""
        if self.raw is not None:
            return self.raw
        if self.status >= 400:
            error = {"message": self.text, "type": "error", "code": None, "param": None}
            return json.dumps({"error": error}).encode()
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{place}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": given if isinstance(given, str) else json.dumps(given),
                    },
                }
                for place, (name, given) in enumerate(self.tool_calls)
            ]
        prompt = sum(len(_words(part)) for part in request.get("messages", ())) // 4
        written = len(self.text or "") // 4 + 1
        reply = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model", ""),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": written,
                "total_tokens": prompt + written,
            },
        }
        return json.dumps({**reply, **self.more}).encode()


Answers = Callable[[Request], "str | Say"] | Iterable["str | Say"]


class ModelServer:
    """The server, in a thread of its own; use it in a ``with`` block.

    Args:
        answers: A function of a request's body, or answers in order, the last of which is
            repeated. A plain string is what the model writes.
        delay: Seconds before every answer.
        key: The only API key that is accepted; ``None`` accepts any.
        port: The port; 0 chooses a free one.

    Attributes:
        requests: The bodies of all requests, in the order of their arrival.
        headers: Their headers, by lower-case names.
        pictures: The pictures in them, shape (height, width, 3). A request with an invalid picture
            is answered with an error, as real servers do.
    """

    def __init__(
        self, answers: Answers, *, delay: float = 0.0, key: str | None = None, port: int = 0
    ) -> None:
        self._answer = answers if callable(answers) else _in_order(answers)
        self._delay, self._key, self._port = delay, key, port
        self._numbers = itertools.count()
        self.requests: list[Request] = []
        self.headers: list[Mapping[str, str]] = []
        self.pictures: list[NDArray[np.uint8]] = []
        self._loop = asyncio.new_event_loop()
        self._ready, self._tasks = threading.Event(), set[asyncio.Task[None]]()
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)

    @property
    def base_url(self) -> str:
        """What clients take as `base_url`."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> ModelServer:
        """Begin to listen."""
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_error: object) -> None:
        """Close all connections and stop."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(10)

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._loop.stop()

    def _run(self) -> None:
        """Serve until the loop is stopped."""
        asyncio.set_event_loop(self._loop)
        served = asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=512)
        server = self._loop.run_until_complete(served)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0))  # transports close
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            while await self._respond(reader, writer):
                pass
        self._tasks.discard(task)
        writer.close()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        rows = [line.partition(":") for line in head.split("\r\n")[1:] if line]
        headers = {name.lower(): value.strip() for name, _, value in rows}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request: Request = json.loads(body) if body else {}
        self.requests.append(request)
        self.headers.append(headers)
        said = self._answer_to(request, headers)
        if self._delay + said.delay:
            await asyncio.sleep(self._delay + said.delay)
        content = said.body(request, next(self._numbers))
        await _write(writer, _head(said, len(content)), said.head_drip)
        await _write(writer, content if said.drip else content[: said.cut], said.drip)
        return said.cut is None

    def _answer_to(self, request: Request, headers: Mapping[str, str]) -> Say:
        """Return the answer to a request."""
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            return Say("Incorrect API key provided.", status=401)
        try:
            self.pictures += pictures_of(request)
        except ValueError as error:
            return Say(f"Invalid image: {error}", status=400)
        answer = self._answer(request)
        return Say(answer) if isinstance(answer, str) else answer


async def _write(writer: asyncio.StreamWriter, content: bytes, drip: float) -> None:
    """Send bytes, all at once or one by one."""
    for part in (bytes([byte]) for byte in content) if drip else (content,):
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(drip)


def _head(said: Say, length: int) -> bytes:
    """Return the head of a reply."""
    lines = {"Content-Type": "application/json", "Content-Length": str(length), **said.headers}
    rows = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {said.status} Status\r\n{rows}\r\n".encode("latin-1")


def _in_order(answers: Iterable[str | Say]) -> Callable[[Request], str | Say]:
    """Return a function that gives the answers in order, and repeats the last one forever."""
    left = list(answers)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def _message_parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a message; plain text is one part."""
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]


def _words(message: Mapping[str, Any]) -> str:
    """Return the text of a message, without its pictures."""
    return "".join(str(part.get("text", "")) for part in _message_parts(message))


def pictures_of(request: Request) -> list[NDArray[np.uint8]]:
    """Return the pictures in a request, shape (height, width, 3).

    Raises:
        ValueError: If one of them is not a PNG, JPEG or WebP in a ``data:`` URL that says so.
    """
    found = []
    parts = (part for message in request.get("messages", ()) for part in _message_parts(message))
    for part in (part for part in parts if part.get("type") == "image_url"):
        head, comma, body = str(part.get("image_url", {}).get("url")).partition(",")
        kind = re.fullmatch(r"data:image/(png|jpeg|webp);base64", head)
        if not comma or kind is None:
            raise ValueError(f"no data: address of a picture but {head[:60]!r}")
        try:
            with Image.open(io.BytesIO(base64.b64decode(body, validate=True))) as image:
                if str(image.format).lower() != kind[1]:
                    raise ValueError(f"it says {kind[1]}, and is {image.format}")
                found.append(np.array(image.convert("RGB")))
        except (OSError, SyntaxError) as error:
            raise ValueError(str(error)) from None
    return found


_COMMAND = re.compile(r"^- (.+)$", re.MULTILINE)


def first_command(request: Request) -> str:
    """Answer with a command from the last list of possible commands, another one in each turn."""
    messages = request.get("messages", [])
    listed = _COMMAND.findall(str(messages[-1].get("content", ""))) if messages else []
    line = str(listed[len(messages) * 7 % len(listed)]) if listed else "stay"
    return line.partition("|")[0]


def main() -> None:
    """Serve until Ctrl-C or, if the input is a pipe, until its other end is closed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--answer", help="what is always answered; default a listed command")
    given = parser.parse_args()
    answers = first_command if given.answer is None else [given.answer]
    with ModelServer(answers, delay=given.delay, port=given.port) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            if stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
                sys.stdin.read()
            else:  # a shell stops background jobs that read from its terminal
                threading.Event().wait()


if __name__ == "__main__":
    main()
