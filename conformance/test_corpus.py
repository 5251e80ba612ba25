"""Every input in the fuzzers' corpus, over the wire: both programs send the same bytes."""

import pytest

from runner.cases import HOME
from test_guard import PLAIN, until_end

HEADS = sorted((HOME / "corpus" / "guard").iterdir())


@pytest.mark.spec("K-35", "K-60")
def test_both_answer_the_corpus_alike(twins, servers):
    """The bytes include the statuses, the number of responses, `connection: close` and the end."""
    first, second = (servers(twin, PLAIN).address for twin in twins)
    for path in HEADS:
        head = path.read_bytes()
        assert until_end(first, head) == until_end(second, head), path.name
