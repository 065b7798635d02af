"""TODO subsets."""
