"""Part of `make sbom`: the weights of models, and the jars of the local servers, which no list of packages has.

`dist/sbom-models.cdx.json` has each model that Riffle installs or carries, with its licence, origin and checksums.
`dist/sbom-jars.cdx.json` has the jars of Kafka and Cassandra, which `riffle up` downloads, with their checksums.
"""

from pathlib import Path
from typing import Any

from docs.weights import ROOT, contents, document, read_weights
from streams.local.servers.java import read_lock
from streams.models.inference.repository import CHAIN_MODEL, parameters_in

DIST = ROOT / "dist"
SERVERS = ("kafka", "cassandra")


def models() -> list[dict[str, Any]]:
    """Return the models of the data packages, and the one that the wheel carries."""
    folder = ROOT / "triton_models" / "local" / CHAIN_MODEL
    parameters = parameters_in((folder / "config.pbtxt").read_text())
    hashes = [{"alg": "SHA-256", "content": parameters["model_sha256"]}]
    name = f"triton_models/local/{CHAIN_MODEL}/1/model.onnx"
    chain = {
        "type": "machine-learning-model",
        "name": parameters["model_name"],
        "version": parameters["model_version"],
        "publisher": "Riffle, from all-MiniLM-L6-v2 and GUM (triton_models/statement_chain/README.md)",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "components": [{"type": "file", "name": name, "hashes": hashes}],
    }
    return [*map(contents, read_weights()), chain]


def jars() -> list[dict[str, Any]]:
    """Return the jars of the servers that `riffle up` starts."""
    found = {jar.coordinate: jar.sha256 for server in SERVERS for jar in read_lock(server)}
    return [
        {
            "type": "library",
            "group": group,
            "name": name,
            "version": version,
            "purl": f"pkg:maven/{group}/{name}@{version}",
            "hashes": [{"alg": "SHA-256", "content": sha256}],
        }
        for coordinate, sha256 in sorted(found.items())
        for group, name, version, *_ in [coordinate.split(":")]
    ]


def main(folder: Path = DIST) -> None:
    """Write both documents."""
    folder.mkdir(exist_ok=True)
    (folder / "sbom-models.cdx.json").write_text(document(models()))
    (folder / "sbom-jars.cdx.json").write_text(document(jars()))


if __name__ == "__main__":
    main()
