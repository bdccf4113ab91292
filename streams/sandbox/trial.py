"""A trial of the confinement: a process that confines itself as a sandbox process does, and says what is in force.

`riffle doctor` and `riffle status` show it. What a kernel claims to have may still be refused, such as in a container.

    python -m streams.sandbox.trial
"""

import json
import os
import subprocess
import sys

from streams.sandbox.confinement import confine, minimal_environment

SECONDS = 20.0
"""Maximum duration of a trial on a busy machine (seconds)."""


def layers_in_force() -> list[str]:
    """Return the layers of the confinement that a process on this machine gets. Empty if the process fails."""
    command = [sys.executable, "-m", __name__]
    environment = minimal_environment(os.environ, sys.path)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS, check=True)  # noqa: S603 - itself
        layers: list[str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return layers


if __name__ == "__main__":
    sys.stdout.write(json.dumps(confine()))
