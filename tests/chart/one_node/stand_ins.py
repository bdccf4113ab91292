"""Stand-ins for the base images of the Dockerfiles, for a machine that reaches no image registry.

    python -m tests.chart.one_node.stand_ins PYTHON [MIRROR]

PYTHON is the folder of a Python 3.12 with a shared library, MIRROR a mirror of Debian. Debian 12 with that Python takes
the name of Python's image, and the same with the Triton of the local stack the name of Triton's image. Both stay in
buildah's storage, where `make cluster-check` finds them. This program needs root, debootstrap and buildah.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytriton

from tests.chart.one_node.buildah import derive

PYTHON_IMAGE, TRITON_IMAGE = "docker.io/library/python:3.12-slim-trixie", "nvcr.io/nvidia/tritonserver:26.10-py3"
PACKAGES = "ca-certificates,libssl3,libsqlite3-0,libffi8,liblzma5,libbz2-1.0,libreadline8,zlib1g,libuuid1,libexpat1"
PIP = "#!/usr/local/bin/python3\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n"
STUB = "triton_python_backend_stub"
"""The program that runs a model's Python. There is one for each version of Python."""
PROGRAMS = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


def make_python(folder: Path, python: Path, mirror: str) -> None:
    """Make Debian 12 with a Python in /usr/local. Raises CalledProcessError."""
    place = [str(folder), *([mirror] if mirror else [])]
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", *place], check=True)
    for part in ("bin", "lib", "include"):
        target, without = folder / "usr" / "local" / part, shutil.ignore_patterns("site-packages", "test")
        shutil.copytree(python / part, target, symlinks=True, dirs_exist_ok=True, ignore=without)
    programs = folder / "usr" / "local" / "bin"
    for name in ("python", "python3"):
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to("python3.12")
    for command in (["ldconfig"], ["/usr/local/bin/python3", "-m", "ensurepip"]):
        subprocess.run(["chroot", folder, *command], check=True)
    for name in ("pip", "pip3"):
        (programs / name).unlink(missing_ok=True)
        (programs / name).write_text(PIP)
        (programs / name).chmod(0o755)
    derive("scratch", PYTHON_IMAGE, folder, "/", environment=[f"PATH={PROGRAMS}"])


def make_triton(folder: Path) -> None:
    """Make the image with Triton and its python backend where NVIDIA's has them. Raises CalledProcessError."""
    package = Path(pytriton.__path__[0])
    root = folder / "opt" / "tritonserver"
    shutil.copytree(package / "tritonserver" / "bin", root / "bin")
    shutil.copytree(package / "tritonserver" / "backends" / "python", root / "backends" / "python")
    shutil.copy(package / "tritonserver" / "python_backend_stubs" / "3.12" / STUB, root / "backends" / "python" / STUB)
    shutil.copytree(package.parent / "nvidia_pytriton.libs", root / "lib")
    for program in (root / "bin" / "tritonserver", root / "backends" / "python" / STUB):
        program.chmod(0o755)
    environment = (f"PATH=/opt/tritonserver/bin:{PROGRAMS}", "LD_LIBRARY_PATH=/opt/tritonserver/lib")
    derive(PYTHON_IMAGE, TRITON_IMAGE, folder, "/", environment=environment)


def main(python: str, mirror: str = "") -> None:
    """Make both images."""
    with tempfile.TemporaryDirectory() as folder:
        make_python(Path(folder), Path(python), mirror)
    print(f"{PYTHON_IMAGE} is made")
    with tempfile.TemporaryDirectory() as folder:
        make_triton(Path(folder))
    print(f"{TRITON_IMAGE} is made")


if __name__ == "__main__":
    main(*sys.argv[1:])
