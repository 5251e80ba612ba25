"""The runner: starts kcup, talks to it, and checks what it sends. Tests and cases are beside this package."""
