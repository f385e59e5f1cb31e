"""What pyproject.toml cannot say: LIKEWISE_AHEAD=1 makes a wheel with kernels compiled ahead."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
# What compiles, so that a release is made by the same everywhere.
NUMBA = "numba==0.68.*"


class CompileAhead(build_ext):
    """Kernels are compiled by a tour of likewise itself, which needs what it needs."""

    def build_extension(self, ext: Extension) -> None:
        """Compile what the tour calls, into the file that Python looks for."""
        file = Path(self.get_ext_fullpath(ext.name)).absolute()
        made = Path(self.build_temp).absolute() / "ahead"
        command = [sys.executable, "-m", "likewise", "compile", "--quiet", "--to", made]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": str(HERE / "src")}, check=True)
        [library] = (made / "likewise").glob("_ahead-*")
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, file)


def needed() -> list[str]:
    """Give what the tour needs, extras too."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [
        NUMBA,
        *project["dependencies"],
        *extras["models"],
        *extras["vectors"],
        *extras["plots"],
    ]


if os.environ.get("LIKEWISE_AHEAD") == "1":
    setup(
        ext_modules=[Extension("likewise._ahead", sources=[])],
        cmdclass={"build_ext": CompileAhead},
        setup_requires=needed(),
    )
else:
    setup()
