"""Section 1, option by option, from SPEC's table: what is accepted, and what is refused and how."""

import re

import pytest

from runner.contract import options

OPTIONS = options()
NUMBERS = [option for option in OPTIONS if option.bounds]
WORDS = re.compile(r"`[\w-]+`(, `[\w-]+`)*")
CHOICES = {option.long: option.accepted.replace("`", "") for option in OPTIONS if WORDS.fullmatch(option.accepted)}
NOT_THERE = 'kcup: cannot read content from "not-there": no such file\n'
each_option = pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.long)
each_number = pytest.mark.parametrize("option", NUMBERS, ids=lambda option: option.long)
each_choice = pytest.mark.parametrize(
    "option", [o for o in OPTIONS if o.long in CHOICES], ids=lambda option: option.long
)


def usage_error(twin, args, env, line):
    result = twin.run(args, env)
    assert (result.returncode, result.stdout, result.stderr.decode()) == (2, b"", f"kcup: {line}\n")


def refused(twin, option, value, reason):
    """By the option in each of its spellings and by the variable, before anything is opened."""
    missing = ["--file", "not-there"] if option.long != "--file" else []
    line = f'{option.long}: "{value}" {reason}'
    usage_error(twin, [*missing, f"{option.long}={value}"], {}, line)
    if not value.startswith("-"):
        usage_error(twin, [option.long, value, *missing], {}, line)
    if option.short and not value.startswith("-"):
        usage_error(twin, [option.short, value, *missing], {}, line)
    if value:
        usage_error(twin, missing, {option.variable: value}, f'{option.variable}: "{value}" {reason}')


def accepted(twin, option, value):
    """The values are checked before anything is opened, so a missing file ends it. Lines at level debug may come
    first."""
    for args, env in (([option.long, value], {}), ([f"{option.long}={value}"], {}), ([], {option.variable: value})):
        result = twin.run([*args, "--file", "not-there"], env)
        assert (result.returncode, result.stdout, result.stderr.decode()[-len(NOT_THERE) :]) == (1, b"", NOT_THERE)


@pytest.mark.spec("K-03", "K-04")
@each_number
@pytest.mark.parametrize(
    "value", ["x", "-1", "+1", "1.0", " 1", "1 ", "0x10", "1e3", "1_000", "٣", "99999999999999999999"]
)
def test_what_is_not_a_number_is_refused(twin, option, value):
    refused(twin, option, value, "is not a whole number from {} to {}".format(*option.bounds))


@pytest.mark.spec("K-03", "K-04")
@each_number
def test_numbers_out_of_range_are_refused(twin, option):
    least, most = option.bounds
    for value in [most + 1] + ([least - 1] if least else []):
        refused(twin, option, str(value), f"is not a whole number from {least} to {most}")


@pytest.mark.spec("K-01", "K-02", "K-03")
@each_number
def test_least_and_most_are_accepted(twin, option):
    for value in option.bounds:
        accepted(twin, option, str(value))
    accepted(twin, option, f"000{option.bounds[1]}")


@pytest.mark.spec("K-03", "K-04")
@each_choice
def test_other_choices_are_refused(twin, option):
    for value in ("x", CHOICES[option.long].split(", ")[0] + "x", "AUTO", " auto", "text,json", "0503"):
        refused(twin, option, value, f"is not one of {CHOICES[option.long]}")


@pytest.mark.spec("K-01", "K-02")
@each_choice
def test_choices_are_accepted(twin, option):
    for value in CHOICES[option.long].split(", "):
        accepted(twin, option, value)


@pytest.mark.spec("K-04")
@each_option
def test_a_missing_value_is_refused(twin, option):
    usage_error(twin, [option.long], {}, f"{option.long} needs a value")
    if option.short and option.short != "-h":  # K-05a
        usage_error(twin, [option.short], {}, f"{option.long} needs a value")


@pytest.mark.spec("K-02")
@each_option
def test_an_empty_variable_is_unset(twin, option):
    result = twin.run(["--file", "not-there"], {option.variable: ""})
    assert (result.returncode, result.stderr.decode()) == (1, NOT_THERE)


@pytest.mark.spec("K-03")
@each_number
def test_a_bad_variable_does_not_matter_when_the_option_is_given(twin, option):
    result = twin.run(["--file", "not-there", option.long, str(option.bounds[1])], {option.variable: "x"})
    assert (result.returncode, result.stderr.decode()) == (1, NOT_THERE)


@pytest.mark.spec("K-02")
@each_number
def test_of_an_option_given_twice_the_last_wins(twin, option):
    least, most = option.bounds
    result = twin.run(["--file", "not-there", option.long, str(least), option.long, str(most)])
    assert (result.returncode, result.stderr.decode()) == (1, NOT_THERE)
