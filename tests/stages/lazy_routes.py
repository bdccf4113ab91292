"""Routes that FastAPI makes when a request or the OpenAPI document first needs them.

The gateway has forty routes, and making all of them takes 40 ms of CPU time. A thousand tests each make a gateway of
their own and ask one or two routes. What FastAPI finds about a parameter, or about the source of a route's function, is
the same in each of these gateways, and found once.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any, get_args, get_origin

from fastapi import params, routing
from fastapi.dependencies import utils
from fastapi.routing import APIRoute, APIRouter
from pydantic.fields import FieldInfo
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
        methods = self.methods  # the gateway adds HEAD before the route is made
        super().__init__(self.path, self.endpoint, **options)
        self.methods = methods
        return getattr(self, name)


def use_lazy_routes() -> None:
    """Make them the routes of every router that is made from now on in this process."""
    defaults = APIRouter.__init__.__kwdefaults__ or {}
    assert "route_class" in defaults, "FastAPI's routers no longer take the class of their routes"
    defaults["route_class"] = LazyRoute
    if utils.analyze_param.__name__ == "analyze_param":
        utils.analyze_param = _once(utils.analyze_param, _parameter)
        routing._extract_endpoint_context = _once(routing._extract_endpoint_context, attrgetter("__code__"))


def _once(function: Callable[..., Any], key_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which is called once for each key, and each time where the key is None."""
    results: dict[Any, Any] = {}

    def call(*arguments: Any, **named: Any) -> Any:
        key = key_of(*arguments, **named)
        if key is None:
            return function(*arguments, **named)
        if key not in results:
            results[key] = function(*arguments, **named)
        return results[key]

    return call


def _parameter(*, param_name: str, annotation: Any, value: Any, path_param_names: set[str]) -> Any:
    """Return a key of all that is written of a parameter; None if a function is written there, such as a dependency."""
    parts = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if isinstance(value, FieldInfo) or any(isinstance(part, params.Depends) for part in (value, *parts)):
        return None
    written = [
        (type(part).__name__, part._attributes_set, part.metadata) if isinstance(part, FieldInfo) else part
        for part in parts
    ]
    return param_name, param_name in path_param_names, repr(value), repr(written)
