"""Routes that FastAPI makes when a request or the OpenAPI document first needs them.

The gateway has forty routes, and making all of them takes 40 ms of CPU time. A thousand tests each make a gateway of
their own and ask one or two routes.
"""

from typing import Any

from fastapi.routing import APIRoute, APIRouter
from starlette.routing import compile_path, get_name


class LazyRoute(APIRoute):
    """A route that only knows its path and methods, until anything else of it is read. Then it is made as ever."""

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        self.unmade = options
        self.path, self.endpoint = path, endpoint
        self.name = options.get("name") or get_name(endpoint)
        self.methods = {method.upper() for method in options.get("methods") or ["GET"]}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)

    def __getattr__(self, name: str) -> Any:
        """Make the route. Python asks this only for attributes that are not set."""
        options = self.__dict__.pop("unmade", None)
        if options is None:
            raise AttributeError(name)
        super().__init__(self.path, self.endpoint, **options)
        return getattr(self, name)


def use_lazy_routes() -> None:
    """Make them the routes of every router that is made from now on in this process."""
    defaults = APIRouter.__init__.__kwdefaults__ or {}
    assert "route_class" in defaults, "FastAPI's routers no longer take the class of their routes"
    defaults["route_class"] = LazyRoute
