"""The rooms and their doors: imports run one way, and the exported names are pinned."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import likewise
import likewise_papers
from likewise import registry
from likewise.app.cli import parser

SOURCE = Path(likewise.__file__).parent
PAPERS = Path(likewise_papers.__file__).parent
# A room may use those before it, and what stands outside all rooms.
ROOMS = [
    "show",
    "draw",
    "text",
    "formats",
    "sources",
    "collection",
    "derived",
    "neighbours",
    "stages",
    "retrieve",
    "models",
    "terms",
    "expand",
    "like",
    "evaluate",
    "engine",
    "app",
]
GROUND = ["arguments", "errors", "records", "forking", "notation", "registry"]
GROUND += [
    "compiled",
    "lanes",
    "byte_lanes",
    "borrowed",
    "ahead",
    "jit",
    "linking",
    "signatures",
    "kernel_folders",
]


def imported_modules(path, package=""):
    """Every module that a file of a package imports, and every name, as it may be a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            around = package.split(".")[: len(package.split(".")) + 1 - node.level]
            module = ".".join([*(around if node.level else []), *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def rooms_used(path, source=SOURCE):
    """The rooms and ground modules of likewise that a file of it imports."""
    package = ".".join(path.relative_to(source.parent).parent.parts)
    for module in imported_modules(path, package):
        parts = module.split(".")
        # What the package itself exports and computes is nobody's room: its version.
        if parts[0] == "likewise" and len(parts) > 1 and parts[1] != "__version__":
            yield parts[1]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_uses_only_the_rooms_before_it(room):
    allowed = {*ROOMS[: ROOMS.index(room) + 1], *GROUND}
    for path in (SOURCE / room).rglob("*.py"):
        assert {*rooms_used(path)} <= allowed, path.relative_to(SOURCE)


@pytest.mark.parametrize("module", GROUND)
def test_the_ground_stands_on_itself_alone(module):
    assert {*rooms_used(SOURCE / f"{module}.py")} <= {*GROUND}


def test_nothing_stands_outside_the_rooms_and_the_ground():
    modules = {path.stem for path in SOURCE.glob("*.py")}
    assert modules == {*GROUND, "__init__", "__main__"}


def test_nothing_knows_of_the_papers():
    for path in SOURCE.rglob("*.py"):
        package = ".".join(path.relative_to(SOURCE.parent).parent.parts)
        packages = {name.partition(".")[0] for name in imported_modules(path, package)}
        assert "likewise_papers" not in packages, path
        assert "likewise_papers" not in path.read_text("utf-8"), path


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("import likewise.app.cli", ["app"]),
        ("from likewise import app", ["app"]),
        ("from likewise import errors, like as other", ["errors", "like"]),
        ("from likewise.app import cli", ["app"]),
        ("from . import kernels", ["terms"]),
        ("from .. import app", ["app"]),
        ("from ..app.cli import main", ["app"]),
        ("def f():\n    from ..like import store", ["like"]),
        ("from likewise import __version__", []),
        ("import likewise_papers, numpy", []),
    ],
)
def test_imports_are_seen_however_they_are_written(line, used, tmp_path):
    path = tmp_path / "likewise" / "terms" / "new.py"
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert [*rooms_used(path, tmp_path / "likewise")] == used


def test_few_modules_compile_and_limit_threads():
    for path in [*SOURCE.rglob("*.py"), *PAPERS.rglob("*.py")]:
        packages = {module.partition(".")[0] for module in imported_modules(path)}
        packages |= {
            name for name in ("numba", "llvmlite") if f'"{name}' in path.read_text("utf-8")
        }
        allowed = path.stem in (
            "compiled",
            "jit",
            "lanes",
            "byte_lanes",
            "borrowed",
            "linking",
            "signatures",
        )
        assert allowed or not packages & {"numba", "llvmlite", "threadpoolctl"}, path


def test_every_folder_is_a_known_room():
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(ROOMS)


EXPORTED = """Analysis Answer Answers Collection Columns Document Explanation Filter LikewiseError
    Qrels Query QueryDocument Ranking Resources Result Run Sample Stage build_neighbours compare
    fuse fuse_runs index measure_risk open open_neighbours open_source read_qrels read_queries
    read_run stage upgrade write_qrels write_run"""


def test_the_exported_names_resolve_and_are_pinned():
    assert likewise.__all__ == EXPORTED.split()
    assert all(getattr(likewise, name) is not None for name in likewise.__all__)
    # What type checkers read is what Python imports.
    typed = ast.walk(ast.parse((SOURCE / "__init__.py").read_text("utf-8")))
    imported = [node for node in typed if isinstance(node, ast.ImportFrom) and node.level == 0]
    homes = {one.asname: node.module for node in imported for one in node.names if one.asname}
    assert homes == likewise._HOME
    assert dir(likewise) == sorted([*likewise.__all__, "__version__"])
    with pytest.raises(AttributeError, match="nonsense"):
        likewise.nonsense  # noqa: B018


COLLECTION = """folder snapshot info refresh close search run pipeline like write_neighbours add
    delete merge copy judgements tune risk models terms"""
MODELS = "fit drop use default topics drift decompose transform keys values items get"
TERMS = "near distance predict perturb graph graphs drop_graph make_graph"


def test_what_a_collection_and_its_parts_can_do_is_pinned(tmp_path):
    c = likewise.index([{"id": "1", "text": "wing"}], to=tmp_path / "c", model=None)
    for part, names in ((c, COLLECTION), (c.models, MODELS), (c.terms, TERMS)):
        assert {name for name in dir(part) if not name.startswith("_")} == {*names.split()}
    assert type(c).__mro__ == (likewise.Collection, object)


def test_help_needs_no_heavy_package():
    code = (
        "import sys; from likewise.app.cli import parser; parser().format_help();"
        "heavy = {'numpy', 'numba', 'scipy', 'orjson', 'zstandard', 'pandas'} & set(sys.modules);"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_imports_its_own_module_only():
    code = (
        "import sys; from likewise.app.cli import parser; parser('fuse');"
        "print(*(name for name in sys.modules if name.startswith('likewise.app.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["likewise.app.commands.fuse"]


def test_the_table_of_commands_is_of_those_that_there_are():
    shown = parser().format_help()
    for name, (module, summary) in registry.COMMANDS.items():
        assert name in shown.split()
        assert summary in " ".join(shown.split())
        with pytest.raises(SystemExit, match="0"):
            parser(name).parse_args([name, "--help"])
        assert (SOURCE / "app" / "commands" / f"{module}.py").exists()


def test_documentation_names_every_room():
    architecture = (SOURCE.parent.parent / "ARCHITECTURE.md").read_text("utf-8")
    for room in ROOMS:
        assert f" {room}/ " in architecture


@pytest.mark.parametrize("command", ["info", "show"])
def test_a_look_at_a_collection_needs_no_compiled_code(command, tmp_path):
    folder = tmp_path / "c.lw"
    documents = [{"id": str(i), "text": f"wing flutter number {i} of many"} for i in range(12)]
    likewise.index(documents, to=folder).terms.make_graph()
    arguments = [command, str(folder), *(["3", "--json"] if command == "show" else [])]
    code = (
        f"import sys; from likewise.app.cli import main; main({arguments});"
        "heavy = {'numba', 'scipy', 'faiss', 'sklearn'} & set(sys.modules);"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
