"""What pyproject.toml cannot say: LIKEWISE_AHEAD=1 makes a wheel with kernels compiled ahead."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
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


class NameSystems(bdist_wheel):
    """The wheel's name says which Linux systems it is for: manylinux, by PEP 600."""

    def get_tag(self) -> tuple[str, str, str]:
        """Name the oldest glibc that has all that the library calls, 2.17 or later.

        It needs no other library than libc and libm, which are glibc's.
        """
        python, abi, system = super().get_tag()
        if system.startswith("linux_") and platform.libc_ver()[0] == "glibc":
            [library] = self.get_finalized_command("build_ext").get_outputs()
            # An editable wheel is named before anything is built, and stays here.
            if Path(library).exists():
                called = re.findall(rb"\0GLIBC_2\.(\d+)", Path(library).read_bytes())
                version = max(17, *map(int, called))
                system = system.replace("linux", f"manylinux_2_{version}", 1)
        return python, abi, system


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
        cmdclass={"build_ext": CompileAhead, "bdist_wheel": NameSystems},
        setup_requires=needed(),
    )
else:
    setup()
