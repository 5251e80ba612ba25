"""The checks of SOAK_SECONDS=3600 make soak, tried on wrong samples and servers."""

import random

import pytest

from runner.cases import option_sets
from runner.mixed_load import MixedLoad
from runner.responses import WireError
from runner.slope import BOUNDS, HOUR, MIB, grows, slope
from runner.wrong_server import WrongServer

MINUTES = range(1, 61)
TURNS = ["kept_open", "heads", "unchanged", "ranges", "variants", "one_each", "pipeline"]


def samples(value):
    """One every 5 s, a quiet one every minute; other samples may have any value."""
    for number in range(12, 60 * 12 + 1):
        quiet, minute = number % 12 == 0, number / 12
        yield {
            "seconds": 5 * number,
            "quiet": quiet,
            **dict.fromkeys(BOUNDS, value(minute) if quiet else 10**9 * minute),
        }


def noise(size, seed):
    chance = random.Random(seed)
    return lambda minute: chance.gauss(0, size)


def with_warm_up(value):
    return lambda minute: value(minute) - (20 * MIB if minute < 6 else 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("leak", [3 * MIB, 20 * MIB])
def test_a_leak_of_memory_is_found_within_noise(leak, seed):
    chance = noise(MIB, seed)
    assert grows(list(samples(with_warm_up(lambda minute: 9 * MIB + leak * minute / 60 + chance(minute)))), "resident")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [0, MIB, 4 * MIB])
def test_noise_is_no_leak(size, seed):
    chance = noise(size, seed)
    assert not grows(list(samples(with_warm_up(lambda minute: 9 * MIB + chance(minute)))), "anonymous")


@pytest.mark.parametrize("every", [5, 15])
def test_descriptors_and_threads_that_are_left_behind_are_found(every):
    assert grows(list(samples(lambda minute: 30 + minute // every)), "descriptors")


def test_one_thread_more_once_is_no_leak():
    """A runtime starts a thread if a system call takes long, and keeps it."""
    for begin in MINUTES:
        assert not grows(list(samples(lambda minute, begin=begin: 11 + (minute >= begin))), "threads")


def test_a_peak_is_no_leak():
    assert not grows(list(samples(lambda minute: 30 + 300 * (minute == 50))), "descriptors")


def test_a_short_run_is_not_held_to_what_an_hour_of_it_would_be():
    short = [{**sample, "seconds": sample["seconds"] / 60} for sample in samples(lambda minute: MIB * minute / 100)]
    assert slope([(sample["seconds"], sample["resident"]) for sample in short if sample["quiet"]]).median > 30 * MIB
    assert not grows(short, "resident")


def test_the_slope_is_for_an_hour_and_has_an_interval():
    chance = noise(1, 1)
    found = slope([(60 * minute, 5 * minute / 60 + chance(minute)) for minute in MINUTES])
    assert found.least < 5 < found.most
    assert 0 < found.most - found.least < 5
    assert slope([(0, 1), (HOUR, 3), (2 * HOUR, 5)]).median == 2


def load(server, text):
    return MixedLoad(server.address, [text.content], random.Random(1))


@pytest.mark.parametrize("turn", TURNS)
def test_a_right_server_passes(turn):
    text = option_sets()["text"]
    with WrongServer(text, None) as server:
        assert getattr(load(server, text), turn)() >= 20


@pytest.mark.parametrize("wrong", ["bytes of another content", "a tag that is not of the content"])
def test_the_load_sees_what_is_wrong(wrong):
    text = option_sets()["text"]
    with WrongServer(text, wrong) as server, pytest.raises(WireError):
        for turn in load(server, text).turns:
            turn()


def test_every_turn_of_the_load_is_tried_here():
    assert [turn.__name__ for turn in MixedLoad(None, [], None).turns] == TURNS
