"""Quick checks: answers that follow from the query by itself (sums, units, times, dates), and a found definition."""
