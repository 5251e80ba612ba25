"""The completions for bash, zsh and fish. A value is one of its words, or a path; to any other nothing is offered."""

HEAD = "Completion of kcup. Made by share/options.py from share/options.toml."
PROGRAMS = "kcup kcup-rust kcup-go"


def options(command):
    return [option for found in command["groups"].values() for option in found]


def next_words(table, command):
    """The words that lead to another command, each with its summary."""
    prefix = f"{command['name']} ".lstrip()
    rest = [(c["name"].removeprefix(prefix), c["summary"]) for c in table if c["name"].startswith(prefix)]
    return [(word, summary) for word, summary in rest if word and " " not in word]


def takes_file(command):
    return any("[FILE]" in form for form in command["usage"])


def spellings(option):
    return [*([f"-{option['short']}"] if "short" in option else []), f"--{option['name']}"]


def steps(table, indent):
    """The cases of a shell that finds out which command was given: COMMAND:WORD."""
    for command in table[1:]:
        before, _, word = command["name"].rpartition(" ")
        yield f'{indent}"{before}:{word}") command="{command["name"]}" ;;'


def bash(table):
    taking = {option["name"]: option for c in table for option in options(c) if "value" in option}.values()
    choices = [f"    {' | '.join(spellings(o))}) words='{' '.join(o['values'])}' ;;" for o in taking if "values" in o]
    paths = [spelling for o in taking if o["value"] == "PATH" for spelling in spellings(o)]
    others = [s for o in taking if o["value"] != "PATH" and "values" not in o for s in spellings(o)]
    commands = []
    for command in table:
        words = [word for word, _ in next_words(table, command)]
        words += [f"--{option['name']}" for option in options(command)]
        files = " files=yes" if takes_file(command) else ""
        commands.append(f"""        "{command["name"]}") words='{" ".join(words)}'{files} ;;""")
    return f"""\
# {HEAD}
_kcup() {{
  local command='' words='' files='' each word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command:$each" in
{chr(10).join(steps(table, "      "))}
    esac
  done
  # To bash, --option=value is three words.
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
  case $before in
{chr(10).join(choices)}
    {" | ".join(paths)}) files=yes ;;
    {" | ".join(others)}) ;;
    *)
      case $command in
{chr(10).join(commands)}
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [[ $files && $word != -* ]] && compgen -f -- "$word")
  [[ $files ]] && compopt -o filenames
}}
complete -F _kcup {PROGRAMS}
"""


def zsh(table):
    def escaped(text):
        return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")

    def value(o):
        choices = "_files" if o["value"] == "PATH" else f"({' '.join(o['values'])})" if "values" in o else " "
        return f":{escaped(o['value'])}:{choices}"

    def spec(o):
        text = f"[{escaped(o['help'])}]{value(o) if 'value' in o else ''}'"
        long = f"--{o['name']}{'=' if 'value' in o else ''}"
        if "short" in o:
            return f"'({' '.join(spellings(o))})'{{-{o['short']}+,{long}}}'{text}"
        return f"'{'*' if 'repeatable' in o['help'] else ''}{long}{text}"

    def words(command):
        found = " ".join(f'{word}\\:\\"{summary}\\"' for word, summary in next_words(table, command))
        files = ' "files:file:_files"' if takes_file(command) else ""
        if found:
            position = len(command["name"].split()) + 1
            return [f"""'{position}: :{{_alternative "commands:command:(({found}))"{files}}}'"""]
        return ["'*:file:_files'" if files else "'*: :'"]

    commands = []
    for command in table:
        specs = [spec(o) for o in options(command)] + words(command)
        commands.append(" \\\n      ".join([f'  "{command["name"]}")\n    _arguments -S', *specs]) + " ;;")
    return f"""\
#compdef {PROGRAMS}
# {HEAD}
local command='' word
for word in $words[2,CURRENT-1]; do
  case "$command:$word" in
{chr(10).join(steps(table, "    "))}
  esac
done
case $command in
{chr(10).join(commands)}
esac
"""


def fish(table):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def condition(command):
        """That the words of this command were given, and no more."""
        tests = [f"__fish_seen_subcommand_from {word}" for word in command["name"].split()]
        further = " ".join(word for word, _ in next_words(table, command))
        return quoted("; and ".join(tests + ([f"not __fish_seen_subcommand_from {further}"] if further else [])))

    def option(o):
        short = f" -s {o['short']}" if "short" in o else ""
        value = "" if "value" not in o else " -r -F" if o["value"] == "PATH" else " -x"
        choices = f" -a {quoted(' '.join(o['values']))}" if "values" in o else ""
        return f"-l {o['name']}{short}{value}{choices} -d {quoted(o['help'])}"

    lines = []
    for command in table:
        start = f"complete -c kcup -n {condition(command)}"
        lines += [] if takes_file(command) else [f"{start} -f"]
        lines += [f"{start} {option(o)}" for o in options(command)]
        lines += [f"{start} -a {word} -d {quoted(summary)}" for word, summary in next_words(table, command)]
    lines += [f"complete -c {program} -w kcup" for program in PROGRAMS.split()[1:]]
    return f"# {HEAD}\n" + "\n".join(lines) + "\n"
