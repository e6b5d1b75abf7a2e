"""The evidence on curricula: see `docs/evidence_teachers.md`."""
