"""An index as a folder that other installations take: written as Parquet, and read as a stranger's files."""
