"""The evidence on curricula: see `docs/evidence_curricula.md`."""
