"""The tables of a report, one file each: DataFrame → DataFrame, of Spark's own functions only."""
