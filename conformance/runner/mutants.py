"""Compare what gremlins found in kcup-go with kcup-go/mutants.toml, the list of mutants that no unit test finds.

gremlins changes no line that unit tests do not run, and no condition of a `case`, which Go's coverage leaves out.
"""

import json
import sys
import tomllib
from pathlib import Path

GO = Path(__file__).resolve().parents[2] / "kcup-go"


def unfound(report, room):
    """The mutants that lived, by file, kind and line of code (its number changes too often), each with its place."""
    for file in report["files"]:
        path = GO / room / file["file_name"]
        name, lines = str(path.relative_to(GO)), path.read_text().splitlines()
        for mutation in file["mutations"]:
            if mutation["status"] == "LIVED":
                number, kind = mutation["line"], mutation["type"]
                code = lines[number - 1].strip()
                yield (name, kind, code), f"{name}:{number}:{mutation['column']}: {kind}: {code}"


def main(report, room):
    report = json.loads(Path(report).read_text())
    rows = tomllib.loads((GO / "mutants.toml").read_text())["unfound"]
    known = {(row["file"], kind, row["code"]) for row in rows for kind in row["mutants"]}
    lived = dict(unfound(report, room))
    problems = [f"no test finds {place}" for mutant, place in lived.items() if mutant not in known]
    gone = (mutant for mutant in known - set(lived) if mutant[0].startswith(f"{room}/"))
    problems += [f"not needed in the list: {mutant}" for mutant in gone]
    print(*sorted(problems), sep="\n", end="\n" * bool(problems))
    print(", ".join(f"{report[f'mutants_{what}']} {what}" for what in ("killed", "lived", "not_covered")))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
