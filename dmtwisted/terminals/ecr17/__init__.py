"""ECR17 terminals (Italy) as a driver."""
