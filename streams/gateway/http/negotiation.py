"""The form of a problem: a page for people, problem+json for programs and for everything under /api."""

from starlette.requests import Request

from streams.gateway.http.problems import MEDIA_TYPE


def wants_html(request: Request) -> bool:
    """Return True if the answer is a page: never under /api and for tools, elsewhere by the Accept header."""
    if request.url.path.startswith(("/api/", "/mcp", "/healthz", "/readyz", "/metrics")):
        return False
    return prefers_html(request.headers.get("accept", ""))


def prefers_html(accept: str) -> bool:
    """Return True if the header prefers HTML (RFC 9110, section 12.5.1), prefers nothing, or is empty."""
    if not accept.strip():
        return True
    html = _quality(accept, "text/html")
    json = max(_quality(accept, "application/json"), _quality(accept, MEDIA_TYPE))
    return html >= json


def _quality(accept: str, media_type: str) -> float:
    """Return the quality that the most specific matching range gives to the type; 0 when none matches."""
    best_specificity, quality = -1, 0.0
    for item in accept.split(","):
        accepted, *parameters = (part.strip().lower() for part in item.split(";"))
        specificity = _specificity(accepted, media_type)
        if specificity > best_specificity:
            best_specificity, quality = specificity, _q_of(parameters)
    return quality


def _specificity(accepted: str, media_type: str) -> int:
    """Return 2 for the type itself, 1 for `text/*`, 0 for `*/*`, -1 for no match."""
    if accepted == media_type:
        return 2
    if accepted == media_type.partition("/")[0] + "/*":
        return 1
    return 0 if accepted == "*/*" else -1


def _q_of(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
