"""SqlQuery: questions about databases, answered in SQL (InterCode-SQL), with databases of its own."""

from piase_gym.worlds.sql_query.rules.score import score

__all__ = ["score"]
