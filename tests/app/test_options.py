import pytest

from likewise.app.cli import parser


@pytest.mark.parametrize(
    ("option", "commands"),
    [
        ("--filter", ("search", "run", "like")),
        ("--explain", ("search", "like", "neighbours")),
        ("--expand", ("search", "run")),
        ("--smooth", ("search", "run")),
    ],
)
def test_an_option_says_the_same_in_every_command(option, commands, capsys):
    told = set()
    for command in commands:
        with pytest.raises(SystemExit, match="0"):
            parser(command).parse_args([command, "--help"])
        lines = capsys.readouterr().out.splitlines()
        [line] = [line for line in lines if line.startswith(f"  {option} ")]
        told.add(" ".join(line.split()))
    assert len(told) == 1
