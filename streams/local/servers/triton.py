"""NVIDIA's Triton Inference Server, from the `nvidia-pytriton` package: the real binary with its python backend.

The package's own Python API starts it for models bound in code. Here the binary is started on a model repository, as in
production. It needs x86-64 Linux and a shared libpython of the running version, which the backend's stub is linked
with. If one is missing, `why_not` names it, and the same model files run inside each process instead (`inprocess:`).
"""

import importlib.util
import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from ctypes.util import find_library
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from streams.errors import StartError, StoreUnavailable
from streams.local.child_process import Launch
from streams.local.ports import free_ports
from streams.local.servers.server import Answer, Hints, failure_message
from streams.local.tls.identities import OPERATOR, Identities
from streams.models.inference.repository import CHAIN_MODEL, LOCAL_REPOSITORY
from streams.models.inference.serving import closed_calls
from streams.settings import Settings, TritonSettings
from streams.settings.servers import IN_PROCESS

PROBE_SECONDS = 2.0
BASH_FOLDERS = ("/usr/bin", "/bin")
"""Folders with bash. The server starts its stubs through bash, and without bash it waits for them for ever."""
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - Linux keeps POSIX shared memory there
SHM_START_BYTES = 4 * 1024 * 1024
"""Size of a model instance's shared memory with the server, at first and of each growth (bytes)."""


MAX_LOG_BYTES = 1024 * 1024
"""Maximum bytes of a new log in which the reason of a model that failed is looked for."""
_FAILED = re.compile(r"failed to load '(?P<model>[^'\n]{1,200})' version \d{1,9}: (?P<reason>[^\n]*)")


def why_not() -> str:
    """Return the reason why Triton can't run here, with advice. Empty if it can."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return f"its package is for x86-64 Linux, and this is {platform.machine()} {platform.system()}"
    if importlib.util.find_spec("pytriton") is None:
        return "the package nvidia-pytriton isn't installed: pip install 'PATH_OF_THE_CLONE[triton]'"
    if not _stub_path().exists():
        return f"the package nvidia-pytriton has no backend for Python {_version()}: use Python 3.11 or 3.12"
    if library_folder() is None:
        return (
            f"there is no shared libpython{_version()}.so. Debian and Ubuntu: apt install libpython{_version()}; "
            f"pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {platform.python_version()}; "
            "uv's and conda's Pythons have it"
        )
    return ""


def library_folder() -> str | None:
    """Return the folder of this Python's shared library, "" if the loader finds it by itself, None if there is none."""
    name = f"libpython{_version()}.so.1.0"
    folders = (sysconfig.get_config_var("LIBDIR"), Path(sys.base_prefix) / "lib")
    for folder in folders:
        if folder and (Path(folder) / name).exists():
            return str(folder)
    return "" if find_library(f"python{_version()}") else None


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _find_package() -> Path:
    found = importlib.util.find_spec("pytriton")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _stub_path() -> Path:
    return _find_package() / "tritonserver" / "python_backend_stubs" / _version() / "triton_python_backend_stub"


def _replace(target: Path, source: Path) -> None:
    """Copy a program to a new file: Linux lets nobody write to one that a killed process still runs from."""
    target.unlink(missing_ok=True)
    shutil.copyfile(source, target)


def _read_failures(log: Path) -> dict[str, str]:
    """Return the models that could not be loaded, with the reasons, from the log of the server's last start."""
    try:
        with log.open("rb") as file:
            text = file.read(MAX_LOG_BYTES).decode(errors="replace")
    except OSError:
        return {}
    return {found["model"]: found["reason"] for found in _FAILED.finditer(text)}


class Triton:
    """`tritonserver` on a model repository. It is ready when the models in `required` are ready."""

    name = "triton"
    title = "Triton"
    ready_timeout_seconds = 180.0
    hints: Hints = (
        (
            "libpython",
            "This Python's shared library can't be loaded: see `why_not` in streams.local.servers.triton.",
        ),
        ("ModuleNotFoundError", "A model needs a package that isn't installed: install requirements/lock.txt."),
        ("Failed to initialize Python stub", "A model's initialize() failed; the traceback is in the log."),
        ("Failed to run python backend stub", "The server found no bash on the PATH: install it."),
        ("No space left", "Shared memory (/dev/shm) is full. In a container, give it more: --shm-size=1g."),
    )

    def __init__(
        self,
        data: Path,
        models: Path,
        required: Iterable[str] = (),
        home: Path | None = None,
        tls: Identities | None = None,
    ) -> None:
        self.data, self.models, self.required, self.home, self.tls = data, models, tuple(required), home, tls
        (self.port,) = free_ports(1)
        self.shm_prefix = f"riffle_{sha256(str(data).encode()).hexdigest()[:10]}_"

    @classmethod
    def of(cls, settings: Settings, home: Path, tls: Identities | None) -> Self:
        models = (settings.models_path / LOCAL_REPOSITORY).resolve()
        own, *others = settings.triton.model, settings.triton.query_model, settings.triton.rerank_model, CHAIN_MODEL
        required = (own, *(name for name in others if name and (models / name).is_dir()))
        return cls(home / "data" / cls.name, models, required, home, tls)

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def addresses(self) -> dict[str, Any]:
        return {"url": self.url}

    @staticmethod
    def external(settings: Settings) -> str:
        own = settings.triton
        return own.url if "url" in own.model_fields_set and not own.url.startswith(IN_PROCESS) else ""

    @property
    def health(self) -> str:
        """Empty: the server is asked over gRPC. Its HTTP port is closed, since pages in browsers could use it."""
        return ""

    @property
    def log(self) -> Path:
        return self.data.parent.parent / "logs" / f"{self.name}.log"

    def prepare(self) -> Launch:
        if reason := why_not():
            raise StartError(f"Triton can't run here: {reason}")
        if not self.models.is_dir():
            raise StartError(f"no model repository at {self.models}: restore it, or set RIFFLE_MODEL_REPOSITORY")
        self.clean()
        backends = self._lay_out_backend()
        return Launch(self._build_command(backends), self._build_environment())

    def _lay_out_backend(self) -> Path:
        """Copy the python backend's files to one folder, with an executable stub for this Python."""
        source, target = _find_package() / "tritonserver" / "backends" / "python", self.data / "backends" / "python"
        target.mkdir(parents=True, exist_ok=True)
        for file in [*source.iterdir(), _stub_path()]:
            if file.is_file():
                _replace(target / file.name, file)
        (target / _stub_path().name).chmod(0o755)
        return target.parent

    def _build_command(self, backends: Path) -> list[str]:
        binary = self.data / "tritonserver"
        _replace(binary, _find_package() / "tritonserver" / "bin" / "tritonserver")
        binary.chmod(0o755)
        return [
            str(binary),
            f"--model-repository={self.models}",
            f"--backend-directory={backends}",
            f"--backend-config=python,shm-region-prefix-name={self.shm_prefix}",
            f"--backend-config=python,shm-default-byte-size={SHM_START_BYTES}",
            f"--backend-config=python,shm-growth-byte-size={SHM_START_BYTES}",
            "--allow-http=false",
            *closed_calls(),
            "--grpc-address=127.0.0.1",
            *self._tls_options(),
            f"--grpc-port={self.port}",
            "--allow-metrics=false",
            # A model that can't be loaded is reported with its reason and doesn't end the others.
            "--exit-on-error=false",
            "--strict-readiness=false",
            "--log-verbose=0",
            *self._model_options(),
        ]

    def _model_options(self) -> list[str]:
        """Return the options that load only the required models: each instance of another one takes memory."""
        loaded = [f"--load-model={model}" for model in self.required]
        return ["--model-control-mode=explicit", *loaded] if loaded else []

    def _tls_options(self) -> list[str]:
        """Return the options for mutual TLS, if there are certificates."""
        if self.tls is None:
            return []
        own = self.tls["triton"]
        return [
            "--grpc-use-ssl=true",
            "--grpc-use-ssl-mutual=true",
            f"--grpc-server-cert={own.cert}",
            f"--grpc-server-key={own.key}",
            f"--grpc-root-cert={own.ca}",
        ]

    def _build_environment(self) -> dict[str, str]:
        libraries = [
            _find_package().parent / "nvidia_pytriton.libs",
            library_folder(),
            os.environ.get("LD_LIBRARY_PATH"),
        ]
        # The stub's interpreter is isolated: it ignores PYTHONPATH and finds its packages beside the first python3 on
        # the PATH, which must be the present interpreter.
        programs = [Path(sys.executable).parent, os.environ.get("PATH"), *BASH_FOLDERS]
        environment = {
            "LD_LIBRARY_PATH": os.pathsep.join(str(part) for part in libraries if part),
            "PATH": os.pathsep.join(str(part) for part in programs if part),
        }
        return {**environment, "RIFFLE_HOME": str(self.home)} if self.home else environment

    def clean(self) -> None:
        """Remove the shared memory that a killed server of this home left in /dev/shm."""
        if SHARED_MEMORY.is_dir():
            for left in SHARED_MEMORY.glob(f"{self.shm_prefix}*"):
                left.unlink(missing_ok=True)

    def is_ready(self) -> bool:
        """Return True if the required models are ready. Raises StartError with the reason if one can't be loaded."""
        from streams.models.triton_connection import server_state  # here, because it loads gRPC

        try:
            ready = server_state(self._client_settings(), PROBE_SECONDS).models
        except StoreUnavailable:
            return False
        missing = [name for name in self.required if name not in ready]
        failed = _read_failures(self.log) if missing else {}
        for name in missing:
            reason = failed.get(name) if (self.models / name).is_dir() else f"there is no {self.models / name}"
            if reason is not None:
                raise StartError(failure_message(self, f"can't load the model {name}: {reason}", self.log))
        return not missing

    def models_answer(self) -> Answer:
        """Ask each required model for one answer.

        `broken`: the process of a model has ended for good, or gives answers of other requests, and only a new start of
        the server helps. `silent`: a model gave no answer in time, because it hangs or because it has much to do.
        """
        from streams.models.triton_connection import model_states  # here, because it loads gRPC

        states = set(model_states(self._client_settings(), self.required, PROBE_SECONDS).values())
        return "broken" if "broken" in states else "silent" if "silent" in states else "healthy"

    def _client_settings(self) -> TritonSettings:
        own = self.tls[OPERATOR].settings(["triton"])["triton"] if self.tls else {}
        return TritonSettings(url=self.url, **own)
