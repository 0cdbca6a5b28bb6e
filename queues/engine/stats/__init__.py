"""What Redis holds of queues and processes beside the jobs: counts per minute, histograms, who is there, the survey."""
