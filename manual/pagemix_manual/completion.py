# SPDX-License-Identifier: Apache-2.0
"""A program's completion for bash: commands, options, and values that are known. All else is
left to bash, which completes files."""

from __future__ import annotations

import shlex

from .tables import Command, Program

# What completes a value, by the name that the option table gives it.
BY_VALUE = {
    "PROFILE": '$(_pagemix_profiles)',
    "BDF": "$(cd /sys/bus/pci/devices 2>/dev/null && echo *)",
}
# Profiles lie where config_folders() of the program looks for them.
PROFILES = """\
_pagemix_profiles()
{
    local program file
    program=$(type -P pagemix) && program=$(readlink -f "$program")
    for file in configs/profiles/*.ini /etc/pagemix/profiles/*.ini \\
        "${program%/*}"/@DATA@/configs/profiles/*.ini; do
        if [[ -f $file ]]; then
            file=${file##*/}
            echo "${file%.ini}"
        fi
    done
}
"""


def _words(words: list[str]) -> str:
    return shlex.quote(" ".join(words))


def _value_cases(command: Command) -> list[str]:
    """Lines of a `case`: what completes the value that follows an option."""
    lines = []
    for option in command.options:
        pattern = "|".join(f'"{command.name} {word}"' for word in option.names)
        if option.choices:
            lines.append(f"        {pattern}) known={_words(list(option.choices))} ;;")
        elif option.value in BY_VALUE:
            lines.append(f'        {pattern}) known="{BY_VALUE[option.value]}" ;;')
    return lines


def _option_case(command: Command) -> str:
    words = [name for option in command.options for name in option.names]
    return f"            {command.name}) known={_words(words)} ;;"


def script(program: Program, data: str) -> str:
    """The text that bash-completion loads. `data`: the installed data, from the program's folder."""
    function = "_" + program.name.replace("-", "_")
    first = [command.name for command in program.commands]
    first += [name for group in program.groups for option in group.options
              for name in option.names]
    values = [line for command in program.commands for line in _value_cases(command)]
    asks_profiles = any("_pagemix_profiles" in line for line in values)
    helper = PROFILES.replace("@DATA@", data) + "\n" if asks_profiles else ""
    return f"""\
# SPDX-License-Identifier: Apache-2.0
# bash completion of {program.name}, made from the option tables of the program.
{helper}{function}()
{{
    local cur prev words cword
    _get_comp_words_by_ref -n =: cur prev words cword
    COMPREPLY=()
    if [[ $cword -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W {_words(first)} -- "$cur")
        return
    fi
    local command=${{words[1]}} known='' assigned=''
    if [[ $cur == --*=* ]]; then
        prev=${{cur%%=*}}
        cur=${{cur#*=}}
        assigned=1
    fi
    case "$command $prev" in
{chr(10).join(values)}
        *)
            if [[ $assigned || $cur != -* ]]; then return; fi
            case $command in
{chr(10).join(_option_case(command) for command in program.commands)}
            esac
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$known" -- "$cur")
    __ltrim_colon_completions "$cur"
}}
complete -o default -F {function} {program.name}
"""
