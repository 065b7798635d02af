"""Reports and predictions of SWE-bench."""
