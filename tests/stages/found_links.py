"""Links of a page as the normalizer sends them, for tests of the frontier."""

from schemas import LinkFound, PageDiscovered
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.crawl.scope import CrawlScope


def found(event: PageDiscovered) -> LinkFound:
    """Return links that were discovered as the normalizer sends them: beside a link that the crawl may not follow."""
    edge = MoreLink(target_url=f"https://{event.host}/film.mp4", anchor="a film")
    followed = (MoreLink(target_url=url, in_content=False, follow=True) for url in (event.url, *event.more_urls))
    source = event.referrer or "https://source.example/"
    names = CrawlScope.of(event).fields().keys() - {"sitemap_level"}
    return LinkFound(
        target_page_id=page_id(edge.target_url),
        target_host=event.host,
        source_page_id=page_id(source),
        source_url=source,
        generation=1,
        more=tuple(followed),
        **edge.model_dump(),
        **{name: getattr(event, name) for name in names},
    )
