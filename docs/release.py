"""`make images`: build the images, the SBOM and the chart, and push them to a registry.

The images have the dates of the commit (`SOURCE_DATE_EPOCH`), so that two builds of a commit have equal layers as far
as the builder and the base images allow. `dist/images.json` has the digests of what was pushed. `--sign` signs it.

A release for several architectures builds on a machine of each (`--arch`), and then joins the images under one name
(`--join`). The image of Triton is only for amd64, as its lock is.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BUILDERS = ("docker", "podman", "buildah")
ARCHITECTURES = ("amd64", "arm64")
KEYLESS = "keyless"
"""In place of a key: cosign signs by the identity of the CI's job."""
PAGE = "application/vnd.cncf.artifacthub"
"""Begin of the media types of a repository's page (Artifact Hub)."""
Command = Sequence[str]


def main() -> int:
    """Run the release. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make images", description=__doc__.splitlines()[0])
    parser.add_argument(
        "registry",
        nargs="?",
        default="",
        help="REGISTRY: registry and folder of the images, such as registry.example.org/search",
    )
    parser.add_argument("--tag", default="", help="TAG. Default: the version of the chart's application")
    parser.add_argument("--flavour", default="cpu", choices=("cpu", "gpu"), help="FLAVOUR of Triton's image")
    parser.add_argument("--builder", default="", choices=("", *BUILDERS), help="default: the first one that is found")
    parser.add_argument("--build-options", default="", help="options of the builder's build, such as --volume ...")
    parser.add_argument("--rendering", action="store_true", help="build the image with Chromium, too (stage `render`)")
    parser.add_argument("--map", action="store_true", help="build the image that draws the map of the index, too")
    parser.add_argument(
        "--sign",
        metavar="KEY",
        default="",
        help=f"sign what was pushed with cosign, and attest its SBOM; {KEYLESS}: by the identity of the CI's job",
    )
    parser.add_argument("--arch", default="", choices=("", *ARCHITECTURES), help="build images with it in their tags")
    parser.add_argument("--join", action="store_true", help="build nothing: join the images of all architectures")
    parser.add_argument("--sign-options", default="", help="options of cosign, such as --tlog-upload=false")
    parser.add_argument(
        "--check-tag", metavar="TAG", default="", help="only compare this tag with the versions in files"
    )
    parser.add_argument("--no-push", action="store_true", help="build, and push nothing")
    parser.add_argument("--dry-run", action="store_true", help="print the commands, and run none")
    given = parser.parse_args()
    if given.check_tag:
        faults = faults_of_tag(given.check_tag)
        print(f"{given.check_tag} is another version than in: {', '.join(faults)}" if faults else "all versions agree")
        return 1 if faults else 0
    if not given.registry:
        parser.error("name the registry: make images REGISTRY=registry.example.org")
    builder = given.builder or next(filter(shutil.which, BUILDERS), "")
    if not builder and not given.dry_run:
        parser.error(f"no builder of images was found: install one of {', '.join(BUILDERS)}")
    tag = given.tag or app_version()
    registry = given.registry.rstrip("/")
    options = shlex.split(given.build_options)
    asked = {"rendering": given.rendering, "umap": given.map}
    made = names(registry, tag, given.flavour, **asked)
    push = not given.no_push
    if given.join:
        commands = list(join(registry, tag, made, [of_arch(made, arch) for arch in ARCHITECTURES]))
    elif given.arch:
        commands = list(images(builder or BUILDERS[0], of_arch(made, given.arch), commit_time(), push, options))
    else:
        commands = list(release(builder or BUILDERS[0], registry, made, commit_time(), push, options))
    if given.dry_run:
        print("\n".join(shlex.join(command) for command in commands))
        return 0
    DIST.mkdir(exist_ok=True)
    if not all(map(run, commands)):
        return 1
    if given.no_push or given.arch:
        return 0
    pushed = joined_digests(registry, made) if given.join else digests(builder, made)
    (DIST / "images.json").write_text(json.dumps(pushed, indent=2))
    signing = sign(made, pushed, given.sign, shlex.split(given.sign_options)) if given.sign else ()
    return 0 if all(map(run, signing)) else 1


def run(command: Command) -> bool:
    """Run a command, and say so if it failed. Returns whether it succeeded."""
    print("$", shlex.join(command), flush=True)
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        message = f"make images stopped: this command ended with status {done.returncode}:"
        print(f"{message}\n  {shlex.join(command)}\nWhat it said is above.", file=sys.stderr)
    return not done.returncode


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the images of a release."""

    app: str
    triton: str
    flavour: str
    """The flavour of Triton's image, which is also its target in the Dockerfile."""
    rendering: str = ""
    """The image of the workers with a browser. Empty: it is not made."""
    umap: str = ""
    """The image of `riffle map`. Empty: it is not made."""

    def sbom_of(self, image: str) -> str:
        """Return the name of the file with the contents of an image. A browser is Debian's, and in none."""
        return {self.triton: "sbom-triton.cdx.json", self.umap: "sbom-map.cdx.json"}.get(image, "sbom.cdx.json")

    def by_place(self) -> tuple[str, ...]:
        """The images, each at its place; empty where one is not made."""
        return self.app, self.triton, self.rendering, self.umap

    def all(self) -> list[str]:
        return [name for name in self.by_place() if name]


def release(
    builder: str, registry: str, made: Names, seconds: str, push: bool, options: Command = ()
) -> Iterator[Command]:
    """Yield the commands of a release, in their order."""
    yield from images(builder, made, seconds, False, options)
    yield ["make", "sbom"]
    yield package_chart(made.app.rpartition(":")[2])
    if push:
        yield from ([builder, "push", name] for name in made.all())
        yield push_chart(registry)


def images(builder: str, made: Names, seconds: str, push: bool, options: Command = ()) -> Iterator[Command]:
    """Yield the commands that build the images, and push them."""
    yield build(builder, made.app, [*options, "."], seconds)
    if made.triton:
        triton = ["-f", "triton_models/Dockerfile", "--target", made.flavour, "."]
        yield build(builder, made.triton, [*options, *triton], seconds)
    if made.rendering:
        yield build(
            builder, made.rendering, [*options, "--build-arg", f"RIFFLE={made.app}", "infra/rendering"], seconds
        )
    if made.umap:
        based = ["-f", "infra/map/Dockerfile", "--build-arg", f"RIFFLE={made.app}", "."]
        yield build(builder, made.umap, [*options, *based], seconds)
    if push:
        yield from ([builder, "push", name] for name in made.all())


def join(registry: str, tag: str, made: Names, parts: Sequence[Names]) -> Iterator[Command]:
    """Yield the commands that give the images of all architectures one name, and publish the chart and its page."""
    for name, *others in zip(*(each.by_place() for each in (made, *parts)), strict=True):
        if name:
            yield ["docker", "buildx", "imagetools", "create", "-t", name, *filter(None, others)]
    yield ["make", "sbom"]
    yield package_chart(tag)
    yield push_chart(registry)
    page = f"helm/artifacthub-repo.yml:{PAGE}.repository-metadata.layer.v1.yaml"
    config = f"/dev/null:{PAGE}.config.v1+yaml"
    yield [_tool("oras"), "push", f"{registry}/charts/riffle:artifacthub.io", "--config", config, page]


def package_chart(tag: str) -> Command:
    """Return the command that packages the chart."""
    return [_tool("helm"), "package", "helm/riffle", "--destination", "dist", "--app-version", tag]


def push_chart(registry: str) -> Command:
    """Return the command that pushes the packaged chart."""
    return [_tool("helm"), "push", f"dist/riffle-{chart_version()}.tgz", f"oci://{registry}/charts"]


def _tool(name: str) -> str:
    """Return a program that `make chart` or `make signers` built, or the one of the machine."""
    return f".tools/{name}" if (ROOT / ".tools" / name).exists() else name


def sign(made: Names, pushed: Mapping[str, str], key: str, options: Command) -> Iterator[Command]:
    """Yield the commands that sign each pushed image by its digest, and attest what it contains."""
    for image, digest in pushed.items():
        place = f"{image.rpartition(':')[0]}@{digest}"
        by = ["--yes", *([] if key == KEYLESS else ["--key", key]), *options]
        yield [_tool("cosign"), "sign", *by, place]
        if image in made.all():  # a chart has no packages
            yield [
                _tool("cosign"),
                "attest",
                *by,
                "--type",
                "cyclonedx",
                "--predicate",
                f"dist/{made.sbom_of(image)}",
                place,
            ]


def names(registry: str, tag: str, flavour: str, *, rendering: bool = False, umap: bool = False) -> Names:
    """Return the names of the images of a release."""
    browser = f"{registry}/riffle-rendering:{tag}" if rendering else ""
    drawing = f"{registry}/riffle-map:{tag}" if umap else ""
    return Names(f"{registry}/riffle:{tag}", f"{registry}/riffle-triton:{tag}-{flavour}", flavour, browser, drawing)


def of_arch(made: Names, arch: str) -> Names:
    """Return the names of the images of one architecture, which a release joins under one name."""

    def tagged(image: str) -> str:
        return image and f"{image}-{arch}"

    triton = tagged(made.triton) if arch == ARCHITECTURES[0] else ""
    return Names(tagged(made.app), triton, made.flavour, tagged(made.rendering), tagged(made.umap))


def build(builder: str, image: str, rest: Command, seconds: str) -> Command:
    """Return the command that builds an image with the dates of the commit."""
    match builder:
        case "docker":
            dated = ["buildx", "build", "--load", "--build-arg", f"SOURCE_DATE_EPOCH={seconds}"]
        case _:
            dated = ["build", "--timestamp", seconds]
    return [builder, *dated, "-t", image, *rest]


def app_version() -> str:
    """Return the version of the chart's application."""
    return _chart_value("appVersion")


def chart_version() -> str:
    """Return the version of the chart."""
    return _chart_value("version")


def _chart_value(name: str) -> str:
    lines = (ROOT / "helm" / "riffle" / "Chart.yaml").read_text().splitlines()
    return next(line.partition(":")[2].strip().strip('"') for line in lines if line.startswith(f"{name}:"))


def commit_time() -> str:
    """Return the time of the commit (seconds since 1970 UTC), or the one that the environment gives."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    log = ["git", "log", "-1", "--format=%ct"]
    return given or subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def digests(builder: str, made: Names) -> dict[str, str]:
    """Return the digest of each pushed image, as the builder knows it."""
    found = {}
    for image in made.all():
        look = [
            builder,
            "inspect",
            "--format",
            "{{.FromImageDigest}}" if builder == "buildah" else "{{index .RepoDigests 0}}",
        ]
        done = subprocess.run([*look, image], capture_output=True, text=True, check=True)
        found[image] = done.stdout.strip().rpartition("@")[2]
    return found


def joined_digests(registry: str, made: Names) -> dict[str, str]:
    """Return the digest of each joined image, and of the chart, as the registry knows them."""
    chart = f"{registry}/charts/riffle:{chart_version()}"
    found = {}
    for name in (*made.all(), chart):
        done = subprocess.run([_tool("oras"), "resolve", name], capture_output=True, text=True, check=True, cwd=ROOT)
        found[name] = done.stdout.strip()
    return found


def faults_of_tag(tag: str, root: Path = ROOT) -> list[str]:
    """Return the files that have another version than a tag of the repository, such as v0.1.0."""
    version = tag.removeprefix("v")
    named = {
        "pyproject.toml": f'\nversion = "{version}"\n',
        "streams/client/pyproject.toml": f'\nversion = "{version}"\n',
        "helm/riffle/Chart.yaml": f'\nappVersion: "{version}"\n',
        "server.json": f'"version": "{version}"',
        "schemas/npm/package.json": f'"version": "{version}"',
        "CHANGELOG.md": f"\n## [{version}]",
    }
    return [file for file, text in named.items() if text not in (root / file).read_text()]


if __name__ == "__main__":
    sys.exit(main())
