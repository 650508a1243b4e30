"""What a run tells: JSON, Markdown, a manifest, comparisons of runs, and single rows in words."""
