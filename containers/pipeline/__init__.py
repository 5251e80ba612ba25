"""Everything that .gitlab-ci.yml needs to run for real: a project, a git remote, a registry."""
