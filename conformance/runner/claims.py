"""The cases that name each number, for `pytest -p runner.claims --collect-only`, as JSON in the file CLAIMS."""

import json
import os
from collections import defaultdict
from pathlib import Path


def pytest_collection_finish(session):
    found = defaultdict(set)
    for item in session.items:
        for mark in item.iter_markers("spec"):
            for number in mark.args:
                found[number].add(without_twin(item))
    Path(os.environ["CLAIMS"]).write_text(json.dumps({number: sorted(names) for number, names in found.items()}))


def without_twin(item):
    """The name of a case without the program, since a case is the same for both."""
    twin = getattr(item, "callspec", None) and item.callspec.params.get("twin")
    return item.nodeid.replace(twin.name, "") if twin else item.nodeid
