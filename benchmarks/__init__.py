"""Throughput, evaluation and learning benchmarks with reference scores."""
