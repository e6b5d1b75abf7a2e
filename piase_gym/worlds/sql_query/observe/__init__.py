"""What agents and people see of SqlQuery."""
