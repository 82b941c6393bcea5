# The site as an image: its code, its dependencies at the pinned versions, its static files.
# Every setting comes with the container (see the README), none is in the image.

FROM python:3.13-slim-trixie AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /app
# The dependencies first: this layer stays as it is while only the code changes. pyproject.toml
# pins them all, those of the dependencies too.
COPY pyproject.toml ./
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
RUN uv sync --no-dev --no-cache
COPY manage.py ./
COPY chat chat
COPY chatsite chatsite
COPY static static
COPY templates templates
# The key is for this step alone: nothing that is collected depends on it.
RUN STATIC_ROOT=/app/collected SITE_DATA=/tmp/data SECRET_KEY=only-to-collect-0123456789abcdef \
    .venv/bin/python manage.py collectstatic --no-input -v 0 \
    && rm -r /tmp/data uv.lock \
    && chmod -R a+rX .

FROM python:3.13-slim-trixie
# A fixed number, so that the owner of a mounted folder can be set to it.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin chat \
    && install -d -o chat -g chat -m 0700 /data
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    SITE_DATA=/data STATIC_ROOT=/app/collected
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["daphne", "-b", "0.0.0.0", "-p", "8000", "-v", "0", "--no-server-name", "chatsite.asgi:application"]
