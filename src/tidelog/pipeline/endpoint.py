"""Metrics on a port of this machine.

What      : `serve` answers `GET /metrics` on the loopback address with what a registry says.
Invariant : nothing but the loopback address is bound, nothing but that path is answered, and nothing is ever changed
            by a request.
Never     : no other page, and no port unless the pipeline file asks for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tidelog.beginning import begin_thread
from tidelog.errors import PipelineError
from tidelog.observe.metrics import Registry

_LOOPBACK = "127.0.0.1"


@contextmanager
def serve(registry: Registry, port: int | None) -> Iterator[int | None]:
    """While this lasts, the metrics can be read on the port (0: any free one); gives the port. None serves nothing."""
    if port is None:
        yield None
        return
    try:
        server = ThreadingHTTPServer((_LOOPBACK, port), _answering(registry))
    except OSError as error:
        reason = error.strerror or str(error)
        raise PipelineError.of("E731", f"port {port} cannot be used: {reason}", remedy="choose another port") from error
    begin_thread(Thread(target=server.serve_forever, name="tidelog-metrics", daemon=True))
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _answering(registry: Registry) -> type[BaseHTTPRequestHandler]:
    class Answer(BaseHTTPRequestHandler):
        """One request for the metrics."""

        def do_GET(self) -> None:
            """Answer with the metrics, or that there is no such page."""
            is_known = self.path == "/metrics"
            body = registry.render().encode() if is_known else b"only /metrics\n"
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's signature
            """Say nothing: a scrape every few seconds is no news."""

    return Answer
