# docker build -t soul . && docker run -d --env-file .env -e CONSOLE_TOKEN=… -v soul:/soul -p 127.0.0.1:8765:8765 soul
FROM python:3.11-slim

WORKDIR /app
COPY requirements.lock ./
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock

COPY LICENSE config.py manifest.json soul.md ./
COPY prompts prompts
COPY playbooks playbooks
COPY actions actions
COPY daemon daemon
COPY rehearsal rehearsal
COPY examples examples
RUN python -m compileall -q config.py daemon rehearsal \
 && useradd --system --uid 10001 --no-create-home soul \
 && install -d -o soul -g soul /soul

# Others reach this port: without a CONSOLE_TOKEN the daemon says so and does not start (exit 78).
ENV HOST=0.0.0.0 PORT=8765 SOUL_HOME=/soul PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER soul
VOLUME /soul
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["python", "-m", "daemon"]
