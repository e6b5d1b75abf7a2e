"""SqlQuery: questions about databases, answered in SQL (InterCode-SQL), with databases of its own."""
