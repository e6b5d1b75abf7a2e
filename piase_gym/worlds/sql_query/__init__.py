"""SqlQuery: questions about databases, answered in SQL, as in InterCode."""

from piase_gym.worlds.sql_query.rules.score import score

__all__ = ["score"]
