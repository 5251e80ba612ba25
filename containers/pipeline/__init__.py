"""What .gitlab-ci.yml needs to be run for real: a project to run it in, a git remote, a registry."""
