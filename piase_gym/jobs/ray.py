"""Jobs on a Ray cluster that has been started already; extra `ray`.

Ray places the jobs, retries those whose worker or node died, and keeps to limits of memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import logging
import math
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from piase_gym.errors import ClusterError, need
from piase_gym.jobs.backend import (
    NO_MODULE,
    Answer,
    code_facts,
    difference,
    do_packed,
    failed,
    limit_of,
    packed,
    unpacked,
    unsendable,
)

PORT = 6379
"""The port of a cluster if an address names none."""
PATIENCE = 5.0
"""Seconds that a host may take to accept a connection."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The opening of a client of gRPC, which Ray uses; a server sends its settings (RFC 9113)."""
SETTINGS = 4
RETRIES = 3
"""How often Ray retries a job whose worker or node has died."""


class RayCluster:
    """Does jobs on a Ray cluster.

    Args:
        address: ``auto`` for the cluster that this machine is part of, or a ``HOST`` or
            ``HOST:PORT`` of one.
        modules: Modules that each worker imports first.
        timeout: Seconds that a job may take, or a function that returns them for a job.
        options: What a job needs, as options of Ray's tasks: `num_cpus`, `memory`, `resources`.

    Raises:
        MissingExtraError: If Ray is not installed.
        ClusterError: If there is no such cluster, or it is of another version.
    """

    attempts = 1  # Ray itself has tried again

    def __init__(
        self,
        address: str = "auto",
        modules: Sequence[str] = (),
        timeout: float | Callable[[Any], float] | None = None,
        **options: Any,
    ) -> None:
        self._ray = need("ray", "a Ray cluster", "ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            connect(self._ray, address)
        self._timeout, self._refs = timeout, dict[Any, int]()
        self._early: list[tuple[int, Answer]] = []
        facts, path = code_facts(), tuple(sys.path)
        modules = tuple(modules)

        def work(data: bytes, limit: float) -> Any:  # sent by value: nothing need be installed
            import os
            import sys

            sys.path += [p for p in path if p not in sys.path and os.path.isdir(p)]  # noqa: PTH112
            try:
                from piase_gym.jobs.ray import do_for_driver
            except ImportError as error:
                return f"piase_gym of this version cannot be imported there: {error}"
            return do_for_driver(data, limit, facts, modules)

        settings = {"max_retries": RETRIES, "num_cpus": 1, **options}
        self._work = self._ray.remote(**settings)(work)
        self._cpus = float(settings["num_cpus"]) or 1.0

    def slots(self) -> int:
        """Return how many jobs the cluster has room for, and some more, so that no CPU waits."""
        cpus = float(self._ray.cluster_resources().get("CPU", 0.0))
        return max(1, math.ceil(1.25 * cpus / self._cpus))

    def submit(self, number: int, perform: Callable[[Any], Any], job: Any) -> None:
        """Hand a job to Ray."""
        try:
            ref = self._work.remote(packed(perform, job), limit_of(self._timeout, job))
        except Exception as error:  # pickling can fail in any way
            self._early.append((number, unsendable(error)))
            return
        self._refs[ref] = number

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        """Return the answers that have come."""
        found, self._early = self._early, []
        if self._refs:
            refs = list(self._refs)
            done, _ = self._ray.wait(refs, num_returns=1, timeout=0 if found else seconds)
            if done:
                done, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
            found += [(self._refs.pop(ref), self._answer(ref)) for ref in done]
        return found

    def _answer(self, ref: Any) -> Answer:
        """Return the answer for a job."""
        try:
            got = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            return failed(error)
        except self._ray.exceptions.RayError as error:
            first = str(error).strip().splitlines()[0]
            return Answer(error=f"the worker died: {first:.200}", died=True)
        return Answer(error=got, useless=True) if isinstance(got, str) else unpacked(got)

    def close(self) -> None:
        """End the jobs that are under way, and the connection if it is ours."""
        for ref in self._refs:
            with contextlib.suppress(Exception):  # Ray may be gone
                self._ray.cancel(ref, force=True)
        self._refs = {}
        if self._ours:
            self._ray.shutdown()


def connect(ray: Any, address: str) -> None:
    """Connect to a cluster.

    Raises:
        ClusterError: If there is none, or it is of another version.
    """
    if address != "auto" and "://" not in address:
        host, _, port = address.partition(":")
        address = f"{host}:{port or PORT}"
        try:  # Ray itself would wait for minutes, and end this process
            knock(host, int(port or PORT))
        except (OSError, ValueError, OverflowError) as error:
            raise ClusterError(f"there is no Ray cluster at {address}: {error}") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError:
        raise ClusterError(
            f"there is no Ray cluster at {address!r}; start one with: ray start --head"
        ) from None
    except (Exception, SystemExit) as error:  # such as another version, or a wrong token
        first = " ".join(str(error).split())
        raise ClusterError(f"the Ray cluster at {address!r} cannot be used: {first:.300}") from None


def knock(host: str, port: int) -> None:
    """Check that what is at an address can be a Ray cluster; a dashboard, for one, cannot.

    Raises:
        OSError: If nothing is there, or nothing that speaks gRPC.
    """
    with socket.create_connection((host, port), PATIENCE) as line:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("0", "false"):
            line.sendall(PREFACE)
            answer = line.recv(9, socket.MSG_WAITALL)
            if answer[3:4] != bytes((SETTINGS,)):
                raise OSError("what answers there is something else")


def do_for_driver(
    data: bytes, limit: float, facts: Mapping[str, str], modules: Sequence[str]
) -> bytes | str:
    """Do a job for the driver, on any machine, or return why none can be done there."""
    node = socket.gethostname()
    if unequal := difference(facts):
        return f"node {node} has {unequal}: results would differ; install the same there"
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as error:
        return f"node {node} {NO_MODULE}: {error}"

    def with_node(answer: Answer) -> Answer:
        error = answer.error and f"on node {node}: {answer.error}"
        return replace(answer, error=error, host=node)

    if limit == math.inf:
        return do_packed(data, with_node)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
        try:
            return do_packed(data, with_node)
        finally:
            faulthandler.cancel_dump_traceback_later()
