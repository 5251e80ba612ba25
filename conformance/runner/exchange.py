"""One HTTP case on one connection: sends, reads the expected responses, and checks whether the connection stays."""

from .answers import WireError
from .promises import check, keep_promises, meet
from .wire import Connection


def perform(address, case, piece=None):
    """Sends the case's bytes and checks every response against SPEC and the case. Returns the responses."""
    with Connection(address) as connection:
        connection.send(case.send, piece or case.piece)
        if case.half_close:
            connection.half_close()
        answers = []
        for number, want in enumerate(case.want, 1):
            bodyless = want.get("bodyless", False)
            try:
                answer = connection.answer(bodyless)
                answers.append(answer)
                keep_promises(answer, case.set, bodyless)
                meet(answer, want, case.set)
            except WireError as error:
                seen = f"; the answer was\n{answers[-1].head.decode('latin-1')}" if len(answers) == number else ""
                raise WireError(f"answer {number}: {error}{seen}") from None
        if case.closed:
            connection.expect_end()
        else:
            connection.expect_open()
    if not case.half_close:
        says_when_it_closes(answers, case.closed)
    return answers


def says_when_it_closes(answers, closing):
    """K-34: only the response after which kcup closes says so. If the peer ends its side, no response says so."""
    for answer in answers:
        last = answer is answers[-1]
        says = answer.one("connection") == "close"
        check(says == (closing and last), f"connection: {answer.one('connection')} although closing is {closing}")
