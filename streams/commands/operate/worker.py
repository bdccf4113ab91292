"""`riffle worker`: run stages in this process."""

from collections.abc import Coroutine
from typing import Annotated, Any

import typer

from streams.commands.console import choose_stages, command, load_settings
from streams.topology import STAGES


@command
def worker(
    stages: Annotated[list[str], typer.Argument(help=f"One or several of {', '.join(s.name for s in STAGES)}.")],
    instance: Annotated[str, typer.Option(help="This worker's name among the stage's workers (a pod's ordinal).")] = "",
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Continue after events that Kafka deleted before they were handled.")
    ] = False,
    health_port: Annotated[int, typer.Option(help="Port of /healthz, /readyz and /metrics. 0: any free port.")] = 0,
) -> Coroutine[Any, Any, int]:
    """Run one or several stages until SIGTERM or Ctrl-C.

    Examples:

        riffle worker fetch
        riffle worker normalize dedup --health-port 9100
    """
    chosen = choose_stages(stages)
    runtime = {name: value for name, value in (("instance", instance), ("health_port", health_port)) if value}
    settings = load_settings(runtime=runtime)
    from streams.runtime.worker import run_worker, use_fast_loop

    use_fast_loop()
    return run_worker(chosen, settings, accept_loss=accept_loss)
