"""What the fuzzers left behind, over the wire: both programs send the same bytes for every head of it."""

import pytest

from runner.cases import HOME
from test_guard import PLAIN, until_end

HEADS = sorted((HOME / "corpus" / "guard").iterdir())


@pytest.mark.spec("K-35", "K-60")
def test_both_answer_the_corpus_alike(twins, servers):
    """Statuses, number of answers, `connection: close` and the end are all in the bytes."""
    first, second = (servers(twin, PLAIN).address for twin in twins)
    for path in HEADS:
        head = path.read_bytes()
        assert until_end(first, head) == until_end(second, head), path.name
