"""Plays episodes: one at a time on a world, or many at once on its batched kernel.

Both ways give the same records (a test compares them). The batch is taken only where that is
certain: the world is an array world without letters and every agent has promised, by having
`act_batch`, that it chooses in a batch what it would choose alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from piase_gym.benchmarks.batch_play import play_batch
from piase_gym.benchmarks.jobs import Job, Table, describe, make_world
from piase_gym.benchmarks.protocol import EpisodeRecord
from piase_gym.benchmarks.single_play import play_one

__all__ = ["play", "play_batch", "play_one"]


def play(job: Job) -> Iterator[EpisodeRecord]:
    """Play a job's episodes; what cannot be played yields a record with a `fault`.

    Yields:
        A record an episode, in the order of the seeds.
    """
    try:
        world = make_world(job.setting)
        table = Table(job, world)
        table.check()
    except Exception as error:  # a policy may fail in any way, and the other jobs go on
        for seed in job.seeds:
            yield replace(job.blank(seed), fault=describe(error))
        return
    try:
        if table.batchable:
            yield from play_batch(table)
        else:
            for seed in job.seeds:
                yield play_one(table, seed)
    finally:
        world.close()
