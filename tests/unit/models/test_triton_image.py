"""The image for Triton: the code that its Dockerfile copies is all that the models in Python import."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "triton_models" / "Dockerfile"
MODULES = ("encoder", "chain_encoder", "cross_encoder", "link_columns", "make_files", "serving")
PROGRAM = """
import sys
sys.path[:0] = [sys.argv[1]]
for name in sys.argv[2:]:
    __import__(f"streams.models.inference.{name}")
own = [module for name, module in sys.modules.items() if name.partition(".")[0] in {"streams", "schemas"}]
print(*(module.__file__ for module in own))
"""


def test_the_image_has_all_code_that_its_models_import(tmp_path: Path) -> None:
    lines = re.findall(r"^COPY ((?:\S+ )+)/opt/riffle/code/(\S+)$", DOCKERFILE.read_text(), re.MULTILINE)
    for sources, target in lines:
        for source in sources.split():
            _copy(ROOT / source, tmp_path / target)
    run = [sys.executable, "-c", PROGRAM, str(tmp_path), *MODULES]
    done = subprocess.run(run, cwd=tmp_path, env={}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [file for file in done.stdout.split() if not file.startswith(str(tmp_path))] == []


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
