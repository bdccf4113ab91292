"""The free space on the disk of the local stack: crawling pauses before the servers have none."""

import shutil

from streams.settings import Settings


def describe_shortage(settings: Settings) -> str:
    """Return a sentence if the disk of the local stack is nearly full, else an empty string.

    Elsewhere the servers have other disks, which their operators watch.
    """
    if settings.profile != "local" or not settings.home.exists():
        return ""
    free = shutil.disk_usage(settings.home).free
    if free >= settings.crawl.min_free_bytes:
        return ""
    return (
        f"only {free / 1e6:,.0f} MB are free on the disk of {settings.home}, and crawling needs "
        f"{settings.crawl.min_free_bytes / 1e6:,.0f} MB (RIFFLE_CRAWL__MIN_FREE_BYTES)"
    )
