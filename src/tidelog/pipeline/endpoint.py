"""Metrics on a port.

What      : `serve` answers `GET /metrics` with what a registry says, on this machine alone unless it is given another
            address.
Invariant : nothing but the address that was asked for is bound, nothing but that path is answered, and nothing is ever
            changed by a request. Nobody is asked who they are: who reaches the address reads the metrics.
Never     : no other page, and no port unless the pipeline file asks for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Thread

from tidelog.beginning import begin_thread
from tidelog.errors import PipelineError
from tidelog.observe.metrics import Registry

LOOPBACK = "127.0.0.1"
"""The address that only this machine reaches."""


@contextmanager
def serve(registry: Registry, port: int | None, address: str = LOOPBACK) -> Iterator[int | None]:
    """While this lasts, the metrics can be read on the port (0: any free one); gives the port. None serves nothing."""
    if port is None:
        yield None
        return
    try:
        server = _Server((address, port), _answering(registry))
    except OSError as error:
        where = f"port {port}" if address == LOOPBACK else f"port {port} of {address}"
        reason = error.strerror or str(error)
        remedy = "choose another port" if address == LOOPBACK else "choose another port, or an address of this machine"
        raise PipelineError.of("E731", f"{where} cannot be used: {reason}", remedy=remedy) from error
    begin_thread(Thread(target=server.serve_forever, name="tidelog-metrics", daemon=True))
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    """One thread for each request; nobody is asked for the name of the address."""

    def server_bind(self) -> None:
        """Bind the address, which is its own name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]


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
