"""The models of a repository besides the settings' own: which one fits a collection, and where it is opened."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.models.inference.repository import set_parameters
from streams.models.opening import open_models
from streams.models.protocols import ModelInfo
from streams.settings import Settings, TritonSettings
from streams.stores.vector_collection import ALIAS, collection_name
from tests.embedding_server import embedding_server
from tests.tiny_sentence_encoder import MODEL, NAME, write_repository
from triton_models import describe_server


def of(collection: str) -> Callable[[ModelInfo], bool]:
    return lambda info: collection_name(ALIAS, info) == collection


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two models, a description that can't be read, and one of a model behind a server."""
    write_repository(tmp_path)
    local = tmp_path / "local"
    (local / "broken").mkdir()
    (local / "broken" / "config.pbtxt").write_text("name: {")
    own = (local / NAME / "config.pbtxt").read_text()
    for name, version in (("later", "2"), ("of_server", "served"), (f"{NAME}_query", "1")):
        (local / name).mkdir()
        config = set_parameters(own, {"model_version": version})
        if name == "of_server":
            config = config.replace("[", '[ { key: "server_model" value { string_value: "any" } },', 1)
        (local / name / "config.pbtxt").write_text(config)
        (local / name / "1").symlink_to(local / NAME / "1")
    return tmp_path


@pytest.mark.parametrize(
    ("collection", "is_found"),
    [
        (f"statements-{MODEL}-2", True),
        (f"statements-{MODEL}-1", True),
        (f"statements-{MODEL}-3", False),
        (f"statements-{MODEL}-served", False),
    ],
)
async def test_the_model_of_a_collection_is_opened_once(repository: Path, collection: str, is_found: bool) -> None:
    triton = TritonSettings(url="inprocess:", model=NAME, threads=1)
    models = await open_models(Settings(model_repository=repository, triton=triton))
    found = await models.other_models.find(of(collection))
    assert (found is not None) is is_found
    if found:
        assert collection_name(ALIAS, await found.info()) == collection
        assert (await found.embed(["the cat sleeps"], "passage")).shape == (1, 5)
        assert await models.other_models.find(of(collection)) is found
    await models.close()


async def test_a_process_with_a_server_of_the_next_model_has_the_former_one_inside(repository: Path) -> None:
    """The way from a model in process to one of a server: the settings first, then `riffle reindex`."""
    async with embedding_server() as server:
        arguments = [server.url, "any", "--name", "next", "--repository", str(repository)]
        assert await asyncio.to_thread(describe_server.main, arguments) == 0
        triton = TritonSettings(url=f"openai+{server.url}", model="next", threads=1)
        models = await open_models(Settings(model_repository=repository, triton=triton))
        assert (await models.embedder.info()).name == "next"
        former = await models.other_models.find(of(f"statements-{MODEL}-1"))
        assert former
        assert (await former.embed(["the cat sleeps"], "query")).shape == (1, 5)
        await models.close()
