"""The runner: what starts kcup, speaks to it, and judges what it says. Tests and cases are beside this package."""
