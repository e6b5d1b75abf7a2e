"""What agents remember: a private FAISS index for each, over texts that are embedded as vectors.

This is the memory of the explorer document: 384 numbers per text, L2 distance, the three nearest.
What all agents know together (objects, positions and messages) is `SharedMemory`.
"""

from piase_gym.memory.embedders import (
    CachedEmbedder,
    Embedder,
    HashedEmbedder,
    SentenceEmbedder,
    find_embedder,
)
from piase_gym.memory.faiss_memory import FaissMemory
from piase_gym.memory.texts import memory_text, query_text

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "FaissMemory",
    "HashedEmbedder",
    "SentenceEmbedder",
    "find_embedder",
    "memory_text",
    "query_text",
]
