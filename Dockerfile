# One image for every worker and the gateway; which one it is, the command says (helm/README.md: what SETTINGS must hold):
#   docker build -t riffle .
#   docker run --env-file SETTINGS riffle migrate
#   docker run --env-file SETTINGS riffle worker fetch
#   docker run --env-file SETTINGS -p 8080:8080 riffle gateway
FROM python:3.12-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 UV_LINK_MODE=copy
WORKDIR /src
COPY requirements/ requirements/
# The hashed lock, without the local stack's servers: in production they run elsewhere.
RUN python -m venv /opt/riffle \
    && /opt/riffle/bin/pip install -q --require-hashes -r requirements/bootstrap.txt \
    && /opt/riffle/bin/uv pip install -q --python /opt/riffle --require-hashes -r requirements/production.txt
COPY pyproject.toml README.md LICENSE ./
COPY schemas/ schemas/
COPY streams/ streams/
COPY triton_models/ triton_models/
# Two builds of a commit have equal layers: compiled files name no times of their sources, sets are written in one order, and
# uv's note of the build's time goes.
RUN /opt/riffle/bin/uv pip install -q --python /opt/riffle --no-deps --no-build-isolation . \
    && /opt/riffle/bin/uv pip uninstall -q --python /opt/riffle hatchling trove-classifiers editables pip uv \
    && for note in /opt/riffle/lib/python3*/site-packages/riffle_search-*.dist-info/uv_cache.json; do \
        rm "$note" && sed -i '/uv_cache\.json/d' "${note%/*}/RECORD" || exit 1; done \
    && find /opt/riffle/lib -name '*.pyc' -delete \
    && PYTHONHASHSEED=0 /opt/riffle/bin/python -B -m compileall -q --invalidation-mode unchecked-hash /opt/riffle/lib

FROM python:3.12-slim-trixie
LABEL org.opencontainers.image.title="Riffle" \
      org.opencontainers.image.description="An open web search engine: every worker, and the gateway" \
      org.opencontainers.image.source="https://github.com/riffle-search/riffle" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin riffle
COPY --from=build /opt/riffle /opt/riffle
ENV PATH=/opt/riffle/bin:$PATH PYTHONUNBUFFERED=1 RIFFLE_PROFILE=production RIFFLE_LOG_JSON=true \
    RIFFLE_RUNTIME__HEALTH_HOST=0.0.0.0 RIFFLE_RUNTIME__HEALTH_PORT=9090 RIFFLE_GATEWAY__HOST=0.0.0.0
USER 10001
EXPOSE 8080 9090
# A worker answers at 9090, the gateway at 8080. Kubernetes has probes of its own instead.
HEALTHCHECK --start-period=120s --interval=15s --timeout=5s CMD ["python", "-c", "\
import urllib.error, urllib.request\n\
for port in (9090, 8080):\n\
    try: urllib.request.urlopen(f'http://127.0.0.1:{port}/healthz', timeout=4)\n\
    except urllib.error.HTTPError: raise SystemExit(1)\n\
    except OSError: continue\n\
    raise SystemExit(0)\n\
raise SystemExit(1)"]
ENTRYPOINT ["riffle"]
CMD ["--help"]
