"""Completion in shells."""

import os
import shutil
import subprocess

import pytest

from likewise import registry
from likewise.app.cli import main
from likewise.app.commands.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_completed(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name in [*registry.COMMANDS, "reproduce"]:
        assert name in script
    assert "--explain" in script or "explain" in script


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "cmd"])
    assert "bash" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_files(tmp_path, capsys):
    main(["completion", "bash"])
    script = tmp_path / "likewise.bash"
    script.write_text(capsys.readouterr().out)
    (tmp_path / "papers.lw").mkdir()

    def completed(*words):
        code = (
            'source likewise.bash; fill=$(complete -p likewise | grep -o -- "-F [^ ]*" | cut -c4-);'
            'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE};'
            '$fill likewise "${COMP_WORDS[COMP_CWORD]}" ""; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", code, "-", *words],
            cwd=tmp_path,
            env=os.environ | {"LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=True,
        )
        return {word.strip().rstrip("/") for word in done.stdout.splitlines()}

    assert "search" in completed("likewise", "sea")
    assert "--explain" in completed("likewise", "search", "--exp")
    assert "papers.lw" in completed("likewise", "search", "pap")
