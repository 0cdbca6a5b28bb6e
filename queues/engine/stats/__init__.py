"""What Redis holds beside the jobs: counts per minute, histograms, presence of consumers and workers, the survey."""
