"""One HTTP case on one connection: sends, reads the expected responses, and checks whether the connection stays."""

from .promises import check, keep_promises, meet
from .responses import WireError
from .wire import Connection


def perform(address, case, piece=None, connect=Connection):
    """Sends the case's bytes and checks every response against SPEC and the case. Returns the responses."""
    with connect(address) as connection:
        connection.send(case.send, piece or case.piece)
        if case.half_close:
            connection.half_close()
        responses = []
        for number, want in enumerate(case.want, 1):
            bodyless = want.get("bodyless", False)
            try:
                response = connection.response(bodyless)
                responses.append(response)
                keep_promises(response, case.set, bodyless)
                meet(response, want, case.set)
            except WireError as error:
                seen = f"; the response was\n{responses[-1].head.decode('latin-1')}" if len(responses) == number else ""
                raise WireError(f"response {number}: {error}{seen}") from None
        if case.closed:
            connection.expect_end()
        else:
            connection.expect_open()
    if not case.half_close:
        says_when_it_closes(responses, case.closed)
    return responses


def says_when_it_closes(responses, closing):
    """K-34: only the response after which kcup closes says so. If the peer ends its side, no response says so."""
    for response in responses:
        last = response is responses[-1]
        says = response.one("connection") == "close"
        check(says == (closing and last), f"connection: {response.one('connection')} although closing is {closing}")
