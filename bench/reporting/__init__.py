"""How long the report of a day takes: days of several shapes (`days`), DuckDB beside them, a cluster on loopback."""
