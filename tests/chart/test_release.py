"""`make images`: its commands for each builder, and what it needs. No image is built here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.release import (
    ARCHITECTURES,
    BUILDERS,
    KEYLESS,
    ROOT,
    chart_version,
    images,
    join,
    names,
    of_arch,
    release,
    sign,
)


@pytest.mark.parametrize("builder", BUILDERS)
def test_both_images_the_sbom_and_the_chart_are_built_and_pushed(builder: str) -> None:
    made = names("r.example/s", "1.2", "cpu")
    commands = [" ".join(each) for each in release(builder, "r.example/s", made, "1700000000", push=True)]
    assert sum("1700000000" in each for each in commands) == 2, "the dates of the commit"
    for part in ("r.example/s/riffle:1.2", "r.example/s/riffle-triton:1.2-cpu", "make sbom", "package helm/riffle"):
        assert any(part in each for each in commands), part
    assert [each.split()[:2] for each in commands if each.startswith(f"{builder} push")] == [[builder, "push"]] * 2
    packaged, pushed = (each.split() for each in (commands[-4], commands[-1]))
    assert (packaged[0], packaged[1]) == (pushed[0], "package"), "one program for both"
    assert pushed[1:] == ["push", f"dist/riffle-{chart_version()}.tgz", "oci://r.example/s/charts"]


# What is asked for, the name of the image, and the end of the command that builds it.
ABOVE = [
    ({"rendering": True}, "riffle-rendering", "--build-arg RIFFLE=r.example/s/riffle:1.2 infra/rendering"),
    ({"umap": True}, "riffle-map", "-f infra/map/Dockerfile --build-arg RIFFLE=r.example/s/riffle:1.2 ."),
]


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize(("asked", "image", "ends"), ABOVE, ids=[row[1] for row in ABOVE])
def test_an_image_above_riffles_is_built_on_the_one_of_this_release(
    builder: str, asked: dict[str, bool], image: str, ends: str
) -> None:
    made = names("r.example/s", "1.2", "cpu", **asked)
    commands = [" ".join(each) for each in release(builder, "r.example/s", made, "0", push=True)]
    built = next(number for number, each in enumerate(commands) if f"-t r.example/s/{image}:1.2" in each)
    assert commands[built].endswith(ends)
    assert "-t r.example/s/riffle:1.2 " in "".join(commands[:built]), "its base is built before"
    assert f"{builder} push r.example/s/{image}:1.2" in commands


def test_each_pushed_image_is_signed_by_its_digest_with_its_own_contents() -> None:
    made = names("r.example:5000/s", "1.2", "cpu", umap=True)
    pushed = {image: f"sha256:{number}" for number, image in enumerate(made.all())}
    commands = [" ".join(each) for each in sign(made, pushed, "cosign.key", ["--tlog-upload=false"])]
    for number, (name, contents) in enumerate(
        {"riffle": "sbom", "riffle-triton": "sbom-triton", "riffle-map": "sbom-map"}.items()
    ):
        place = f"r.example:5000/s/{name}@sha256:{number}"
        assert f"cosign sign --yes --key cosign.key --tlog-upload=false {place}" in commands
        assert f"--type cyclonedx --predicate dist/{contents}.cdx.json {place}" in "".join(commands)
    assert len(commands) == 6


def test_images_of_two_architectures_get_one_name_and_the_chart_its_page() -> None:
    made = names("r.example/s", "1.2", "cpu", umap=True)
    parts = [of_arch(made, arch) for arch in ARCHITECTURES]
    built = [" ".join(each) for each in images("docker", parts[1], "0", push=True)]
    assert [each.split()[-1] for each in built if " push " in each] == [
        "r.example/s/riffle:1.2-arm64",
        "r.example/s/riffle-map:1.2-arm64",
    ]
    assert "RIFFLE=r.example/s/riffle:1.2-arm64" in "".join(built), "on the base of its own architecture"
    commands = [" ".join(each) for each in join("r.example/s", "1.2", made, parts)]
    joined = [each.split(" -t ")[1].split() for each in commands if " imagetools create " in each]
    assert joined == [
        ["r.example/s/riffle:1.2", "r.example/s/riffle:1.2-amd64", "r.example/s/riffle:1.2-arm64"],
        ["r.example/s/riffle-triton:1.2-cpu", "r.example/s/riffle-triton:1.2-cpu-amd64"],
        ["r.example/s/riffle-map:1.2", "r.example/s/riffle-map:1.2-amd64", "r.example/s/riffle-map:1.2-arm64"],
    ]
    assert "r.example/s/charts/riffle:artifacthub.io" in commands[-1]
    (page,) = (part.split(":")[0] for part in commands[-1].split() if part.startswith("helm/"))
    assert (ROOT / page).is_file()


def test_without_a_key_a_job_signs_by_its_identity_also_the_chart() -> None:
    made = names("r.example", "1", "cpu")
    pushed = {"r.example/riffle:1": "sha256:1", "r.example/charts/riffle:1": "sha256:2"}
    signed, attested, chart = (" ".join(each) for each in sign(made, pushed, KEYLESS, []))
    assert "--key" not in signed + attested + chart
    assert signed.endswith("r.example/riffle@sha256:1")
    assert chart.endswith("sign --yes r.example/charts/riffle@sha256:2")


def test_make_sbom_writes_the_contents_of_each_image() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nsbom:")[2].partition("\n\n")[0]
    made = names("r.example", "1", "cpu", umap=True)
    assert all(f"-o dist/{made.sbom_of(image)}" in recipe for image in made.all())
    installed = re.findall(r"--require-hashes [^&]*-r /src/(\S+)", (ROOT / "triton_models/Dockerfile").read_text())
    assert all(f"requirements/{lock}" in recipe for lock in installed)


def test_nothing_is_pushed_without_leave() -> None:
    commands = [
        " ".join(each) for each in release("docker", "r.example", names("r.example", "1", "gpu"), "0", push=False)
    ]
    assert not any("push" in each for each in commands)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("r.example", "--dry-run"), 0, "riffle-triton:"),
        (("", "--dry-run"), 2, "REGISTRY="),
        (("r.example", "--flavour", "tpu"), 2, "invalid choice"),
    ],
)
def test_arguments_are_looked_at_first(arguments: tuple[str, ...], status: int, message: str) -> None:
    command = [sys.executable, "-m", "docs.release", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == status, done.stderr
    assert message in done.stdout + done.stderr


def test_a_command_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = tmp_path / "buildah"
    builder.write_text("#!/bin/sh\necho no such base image >&2\nexit 125\n")
    builder.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    command = [sys.executable, "-m", "docs.release", "r.example", "--builder", "buildah"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 1
    assert "no such base image" in done.stderr
    assert "ended with status 125:\n  buildah build" in done.stderr
    assert "Traceback" not in done.stderr
