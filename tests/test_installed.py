"""The wheel and the source distribution, and the wheel as it is installed."""

import json
import os
import pkgutil
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import likewise
from likewise.compiled import Kernel

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("likewise", "likewise_papers")


def run(*arguments, **options):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of what distributions are built from."""
    tree = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", tree / "src", ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    return tree


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder for compiled code. It is kept by content: what this tree compiled serves copies."""
    kernels = ROOT / "src" / "likewise" / "__pycache__" / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    kept = tmp_path_factory.mktemp("kept")
    (kept / "likewise").symlink_to(kernels)
    return {"NUMBA_CACHE_DIR": str(kept)} | os.environ


@pytest.fixture(scope="module")
def built(tree):
    """The folder that both distributions are in."""
    run("-m", "build", "--no-isolation", "--outdir", tree / "dist", tree)
    return tree / "dist"


def install(wheel, target):
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    run(*pip, "--disable-pip-version-check", "--target", target, wheel)


@pytest.fixture(scope="module")
def installed(built, kept, tmp_path_factory):
    """The environment of a process that imports what the wheel installed."""
    [wheel] = built.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    target = tmp_path_factory.mktemp("installed")
    install(wheel, target)
    return kept | {"PYTHONPATH": str(target)}


def sources():
    """Every file of the packages, as the wheel names it."""
    for package in PACKAGES:
        for path in (ROOT / "src" / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT / "src").as_posix()


def test_distributions_are_whole_and_their_description_is_read(built):
    run("-m", "twine", "check", "--strict", *built.iterdir())
    [wheel] = built.glob("*.whl")
    [sdist] = built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        packed = {*archive.namelist()}
    with tarfile.open(sdist) as archive:
        taken = {name.partition("/src/")[2] for name in archive.getnames()}
    expected = {*sources()}
    assert expected <= packed
    assert expected <= taken
    assert {name.partition("/")[0] for name in packed - expected} == {"likewise-0.1.0.dist-info"}


def test_what_is_installed_indexes_answers_and_writes_pages(installed, tmp_path):
    def likewise(*arguments):
        return run("-m", "likewise", *arguments, env=installed, cwd=tmp_path)

    where = run("-c", "import likewise; print(likewise.__file__)", env=installed, cwd=tmp_path)
    assert Path(where).is_relative_to(installed["PYTHONPATH"])
    assert "search" in likewise("--help")
    subjects = ["wing flutter in a supersonic stream", "heat transfer to a flat plate"]
    lines = [
        {"id": f"{i}", "title": f"Report {i}", "text": f"{subjects[i % 2]}, case number {i}."}
        for i in range(40)
    ]
    (tmp_path / "reports.jsonl").write_text("\n".join(map(json.dumps, lines)))
    likewise("index", "reports.jsonl", "--to", "reports.lw")
    found = json.loads(likewise("search", "reports.lw", "wing flutter", "-k", "3", "--json"))
    assert found
    likewise("like", "reports.lw", "--id", "3", "--html", "like.html")
    assert "Report 3" in (tmp_path / "like.html").read_text("utf-8")
    likewise("decompose", "reports.lw", "--id", "3", "--html", "parts.html")
    assert "Report 3" in (tmp_path / "parts.html").read_text("utf-8")
    assert "--quick" in likewise("reproduce", "--help")
    assert "reproduce" in likewise("completion", "bash")
    assert "lsh" in run(
        "-c",
        "from likewise.registry import FINDERS, Table;"
        "print(*Table(FINDERS, groups=('likewise.finders',)))",
        env=installed,
        cwd=tmp_path,
    )


@pytest.mark.long
def test_a_tour_of_a_wheel_with_compiled_kernels_compiles_nothing(tree, kept, tmp_path):
    build = ["-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "dist", tree]
    run(*build, env=kept | {"LIKEWISE_AHEAD": "1"})
    [wheel] = (tmp_path / "dist").iterdir()
    assert "-cp3" in wheel.name
    assert ("-manylinux_2_" in wheel.name) is (platform.libc_ver()[0] == "glibc")
    install(wheel, tmp_path / "installed")
    # There is no numba, nor anything that was compiled before.
    code = (
        "import sys; sys.modules['numba'] = None; sys.modules['llvmlite'] = None;"
        "from pathlib import Path; from likewise.app import tour; tour.run(Path(sys.argv[1]))"
    )
    (tmp_path / "tour").mkdir()
    places = {"PYTHONPATH": str(tmp_path / "installed"), "NUMBA_CACHE_DIR": str(tmp_path / "none")}
    run("-c", code, tmp_path / "tour", env=os.environ | places)
    assert not (tmp_path / "none").exists()
    listing = "from likewise import ahead; print(*(row[0] for row in {}.module.table))"
    listed = run("-c", listing.format("ahead.libraries()[0]"), env=os.environ | places).split()
    assert called_from_python() - {*listed} <= NOT_REACHED


# Kernels that the tour does not reach: what large collections and graphs need, or what is added to.
NOT_REACHED = {
    "likewise.collection.records.decode_text_sizes",
    "likewise.neighbours.list_kernels.propose_above",
    "likewise.terms.laplacian.add_squares",
    "likewise.terms.laplacian.multiply_lanes",
    "likewise.terms.occurrences._splice",
    "likewise.terms.pair_kernels.merge_rows",
    "likewise.terms.null_space.project",
}


def called_from_python():
    """The names of all kernels but those that only others call."""
    found = set()
    for module in pkgutil.walk_packages(likewise.__path__, "likewise."):
        if not module.name.endswith(("__main__", "._ahead")):
            values = vars(import_module(module.name)).values()
            found |= {value for value in values if isinstance(value, Kernel)}
    inner = {called for kernel in found for called in kernel.reached()[1:]}
    return {kernel.name for kernel in found - inner}
