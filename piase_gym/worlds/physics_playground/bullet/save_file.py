"""Bullet's file format, as far as snapshots need it: poses, speeds and contact points.

Bullet's own reader trusts every length, count and pointer in a file, so Bullet never reads bytes
that came from outside: `rebuilt` takes the numbers out of them, checks each number, and writes them
into a file that Bullet has just saved of the same scene here.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

LARGEST: Final = 1 << 23
"""No file of a scene has more bytes; the largest that configs allow has under half as many."""
_HEADER: Final = b"BULLETd-v326"  # doubles, eight-byte pointers, little-endian, Bullet 3.26
_CHUNK: Final = struct.Struct("<4siQii")  # code, length, pointer, type, count
_BODY, _COLLIDER, _CONTACT = b"MBDY", b"MBLC", b"CONT"
_MOTION: Final = struct.Struct("<16d")  # place, quaternion, velocity and spin, four numbers each
_BODY_SIZE, _COLLIDER_SIZE = 200, 520
_CONTACT_TYPE: Final = 37  # the number of btPersistentManifoldDoubleData among Bullet's types
_POINTS: Final = struct.Struct("<140d20i36d4i5i4x2di4x2Q")
"""Up to four contact points of two colliders: coordinates, part numbers, flags, forces, ages, the
number of points, two thresholds, and pointers to the colliders."""
_FLAGS, _COUNT, _THRESHOLDS = slice(156, 160), 200, 205
_ANY_FLAGS, _MOST_POINTS, _MANIFOLD = 31, 4, 1025
_BIGGEST: Final = 1e30
"""What Bullet writes where there is no threshold."""


class _Chunk(NamedTuple):
    """A piece of a file."""

    code: bytes
    pointer: int
    head: bytes
    body: bytes


def inflate(text: str) -> bytes:
    """Return the bytes of a packed file.

    Raises:
        ValueError: If it is damaged, or larger than the file of any scene.
    """
    if len(text) > LARGEST:
        raise ValueError(f"Bullet's file is larger than {LARGEST} bytes")
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text, validate=True), LARGEST + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"Bullet's file is damaged: {error}") from None
    if len(data) > LARGEST:
        raise ValueError(f"Bullet's file is larger than {LARGEST} bytes")
    if not reader.eof or reader.unused_data:
        raise ValueError("Bullet's file is damaged: it does not end where it should")
    return data


def rebuilt(data: bytes, own: bytes, movable: int) -> bytes:
    """Return a file for Bullet with the motions and contacts of another one.

    Args:
        data: Bytes from anywhere.
        own: What Bullet has just saved of the same scene.
        movable: How many bodies move; they come last.

    Raises:
        ValueError: If `data` is not a file of this scene, or holds impossible numbers.
    """
    foreign, frame = _chunks(data), _chunks(own)
    bodies, targets = _chunks_of(foreign, _BODY, _BODY_SIZE), _chunks_of(frame, _BODY, _BODY_SIZE)
    theirs = _chunks_of(foreign, _COLLIDER, _COLLIDER_SIZE)
    ours = _chunks_of(frame, _COLLIDER, _COLLIDER_SIZE)
    if len(bodies) != len(targets) or len(theirs) != len(ours):
        raise ValueError(f"Bullet's file is of {len(bodies)} bodies, not of {len(targets)}")
    colliders = {a.pointer: b.pointer for a, b in zip(theirs, ours, strict=True)}
    moved = {
        target.pointer: _motion(body.body) + target.body[_MOTION.size :]
        for body, target in list(zip(bodies, targets, strict=True))[len(targets) - movable :]
    }
    contacts = [
        _CHUNK.pack(_CONTACT, _POINTS.size, (1 << 48) + number, _CONTACT_TYPE, 1)
        + _contact(chunk.body, colliders)
        for number, chunk in enumerate(_chunks_of(foreign, _CONTACT, _POINTS.size))
    ]
    written = [
        chunk.head + (moved.get(chunk.pointer, chunk.body) if chunk.code == _BODY else chunk.body)
        for chunk in frame
        if chunk.code != _CONTACT
    ]
    # The last chunk describes the types; contacts come just before it.
    return b"".join((_HEADER, *written[:-1], *contacts, written[-1]))


def _chunks(data: bytes) -> list[_Chunk]:
    """Split a file into its chunks.

    Raises:
        ValueError: If it is not a file of this version of Bullet, or its lengths do not add up.
    """
    if not data.startswith(_HEADER):
        raise ValueError(f"Bullet's file does not begin with {_HEADER.decode()}")
    found, place = [], len(_HEADER)
    while place < len(data):
        start = place + _CHUNK.size
        if start > len(data):
            raise ValueError("Bullet's file is cut off")
        code, length, pointer, _, _ = _CHUNK.unpack_from(data, place)
        if not 0 <= length <= len(data) - start:
            raise ValueError(f"Bullet's file has a part of {length} bytes")
        place = start + length
        found.append(_Chunk(code, pointer, data[start - _CHUNK.size : start], data[start:place]))
    return found


def _chunks_of(chunks: list[_Chunk], code: bytes, size: int) -> list[_Chunk]:
    """Return the chunks of a kind.

    Raises:
        ValueError: If one has another size than its kind has.
    """
    found = [chunk for chunk in chunks if chunk.code == code]
    for chunk in found:
        if len(chunk.body) != size:
            raise ValueError(f"Bullet's file has a {code.decode()} of {len(chunk.body)} bytes")
    return found


def _motion(data: bytes) -> bytes:
    """Return where a body is and how it moves, checked."""
    return _MOTION.pack(*_finite(_MOTION.unpack_from(data)))


def _contact(data: bytes, colliders: Mapping[int, int]) -> bytes:
    """Return contact points, checked, between colliders of another file.

    Args:
        data: The points, with pointers to colliders of their own file.
        colliders: For each of those pointers, the collider of the other file.

    Raises:
        ValueError: If there are more points than fit, or a flag or a collider is unknown.
    """
    *numbers, one, other = _finite(_POINTS.unpack(data))
    if not 0 <= numbers[_COUNT] <= _MOST_POINTS:
        raise ValueError(f"Bullet's file has {numbers[_COUNT]} points in a contact")
    if any(not 0 <= flag <= _ANY_FLAGS for flag in numbers[_FLAGS]):
        raise ValueError("Bullet's file has a contact of an unknown kind")
    if one not in colliders or other not in colliders:
        raise ValueError("Bullet's file has a contact of something that is not there")
    numbers[_COUNT + 1 : _THRESHOLDS] = 0, 0, 0, _MANIFOLD  # where Bullet kept them: not needed
    return _POINTS.pack(*numbers, colliders[one], colliders[other])


def _finite(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return numbers, if all of them are possible.

    Raises:
        ValueError: If one is not.
    """
    for value in values:
        if isinstance(value, float) and not abs(value) <= _BIGGEST:
            raise ValueError(f"Bullet's file holds the number {value!r}")
    return values
