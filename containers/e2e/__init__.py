"""A domain with a policy, and somebody who wants to send mail to it."""

import time

PATH = "/.well-known/mta-sts.txt"


def until(sight, wanted, patience=20):
    """Look until what is seen is wanted, for at most `patience` seconds; what was seen last."""
    end = time.monotonic() + patience
    while not wanted(seen := sight()) and time.monotonic() < end:
        time.sleep(0.02)
    assert wanted(seen), seen
    return seen
