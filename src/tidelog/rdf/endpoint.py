"""The SPARQL 1.1 protocol over HTTP, on this machine only.

What      : `Endpoint` answers queries and, if it may, updates, for any SPARQL client.
Idea      : Python's own HTTP server, one thread per request; a query runs in a process of its own with limits, an
            update goes through the graph like any other.
Source    : SPARQL 1.1 Protocol, W3C Recommendation, section 2.
Invariant : it listens on a loopback address only. A request with a foreign Host or Origin is refused, so that no web
            page can talk to it through a browser. Without `writable` nothing changes. Nothing is ever fetched.
Never     : no files are served.
"""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tidelog.beginning import begin_thread
from tidelog.errors import TidelogError, UsageError
from tidelog.rdf.evaluation_process import QueryLimits, evaluated
from tidelog.rdf.mirror import Mirror

if TYPE_CHECKING:
    from tidelog.rdf.graph import Graph

_TYPES = {
    "application/sparql-results+json": "json",
    "application/json": "json",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/sparql-results+xml": "xml",
    "application/xml": "xml",
}
_SHOWN = {"json": "application/sparql-results+json", "csv": "text/csv; charset=utf-8"}
_SHOWN |= {"tsv": "text/tab-separated-values; charset=utf-8", "xml": "application/sparql-results+xml"}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LARGEST = 64 << 20
_AT_ONCE = 8
PATHS = ("/", "/sparql", "/query", "/update")


class Endpoint:
    """A graph behind HTTP. `port` 0 takes a free one; `start` returns at once, `serve` does not."""

    def __init__(
        self,
        graph: Graph,
        *,
        port: int = 7878,
        host: str = "127.0.0.1",
        writable: bool = False,
        limits: QueryLimits | None = None,
    ) -> None:
        if host not in _LOOPBACK:
            raise UsageError.of("E837", f"{host} is no loopback address", remedy="use 127.0.0.1; put a proxy before it")
        self.graph, self.writable, self.limits = graph, writable, limits or QueryLimits()
        self.running = threading.BoundedSemaphore(_AT_ONCE)
        self.writing = threading.Lock()
        handler = type("Handler", (_Handler,), {"endpoint": self})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            sentence = f"port {port} cannot be used: {error.strerror}"
            raise UsageError.of("E837", sentence, remedy="choose another with --port") from error
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self.port}/sparql"

    def serve(self) -> None:
        """Answer until interrupted or closed."""
        self._server.serve_forever(poll_interval=0.1)

    def start(self) -> None:
        """Answer in the background."""
        begin_thread(threading.Thread(target=self.serve, daemon=True))

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, query: str, form: str) -> tuple[bool, bytes]:
        """Whether a query answers with triples, and its answer, within the limits."""
        mirror: Mirror = self.graph.mirror
        with self.running:
            return evaluated(mirror, query, form, self.limits)

    def update(self, text: str) -> None:
        """Apply an update, one at a time."""
        with self.writing:
            self.graph.update(text)


class _Refused(Exception):  # noqa: N818 - an answer to the client, no error of ours
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    endpoint: Endpoint
    protocol_version = "HTTP/1.1"
    server_version = "tidelog"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """A query in the address."""
        self._answered(lambda: self._query(parse_qs(urlsplit(self.path).query)))

    def do_POST(self) -> None:
        """A query or update in the body, directly or as a form."""
        self._answered(self._posted)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as http.server has it
        """Requests are not logged: they may hold data."""

    def _answered(self, work: Any) -> None:  # noqa: ANN401 - a function without arguments
        try:
            self._check_caller()
            status, kind, body = work()
        except _Refused as refused:
            status, kind, body = refused.status, "text/plain; charset=utf-8", str(refused).encode()
        except TidelogError as error:
            is_limit = error.problems[0].code == "E836"
            status = HTTPStatus.SERVICE_UNAVAILABLE if is_limit else HTTPStatus.BAD_REQUEST
            kind, body = "text/plain; charset=utf-8", str(error).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if status >= HTTPStatus.BAD_REQUEST:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def _check_caller(self) -> None:
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        if host not in _LOOPBACK:
            raise _Refused(HTTPStatus.FORBIDDEN, "the Host of the request is not this machine")
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).hostname not in _LOOPBACK:
            raise _Refused(HTTPStatus.FORBIDDEN, "requests of other origins are refused")
        if urlsplit(self.path).path not in PATHS:
            raise _Refused(HTTPStatus.NOT_FOUND, f"the endpoint is {self.endpoint.url}")

    def _posted(self) -> tuple[HTTPStatus, str, bytes]:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _LARGEST:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {_LARGEST:,} bytes")
        body = self.rfile.read(int(length)).decode("utf-8", errors="replace")
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        given = parse_qs(urlsplit(self.path).query)
        if kind == "application/sparql-query":
            return self._query({**given, "query": [body]})
        if kind == "application/sparql-update":
            return self._update({**given, "update": [body]})
        if kind == "application/x-www-form-urlencoded":
            form = parse_qs(body, keep_blank_values=True)
            return self._update(form) if "update" in form else self._query(form)
        raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/sparql-query or application/sparql-update")

    def _query(self, given: dict[str, list[str]]) -> tuple[HTTPStatus, str, bytes]:
        if len(given.get("query", [])) != 1:
            raise _Refused(HTTPStatus.BAD_REQUEST, "give one parameter: query")
        self._refuse_graphs(given)
        form = self._form()
        are_triples, body = self.endpoint.answer(given["query"][0], form)
        return HTTPStatus.OK, "application/n-triples" if are_triples else _SHOWN[form], body

    def _update(self, given: dict[str, list[str]]) -> tuple[HTTPStatus, str, bytes]:
        if not self.endpoint.writable:
            raise _Refused(HTTPStatus.FORBIDDEN, "this endpoint is read-only")
        if len(given.get("update", [])) != 1:
            raise _Refused(HTTPStatus.BAD_REQUEST, "give one parameter: update")
        self._refuse_graphs(given)
        self.endpoint.update(given["update"][0])
        return HTTPStatus.OK, "application/json", json.dumps({"version": self.endpoint.graph.version}).encode()

    @staticmethod
    def _refuse_graphs(given: dict[str, list[str]]) -> None:
        if any(name.endswith("graph-uri") for name in given):
            raise _Refused(HTTPStatus.BAD_REQUEST, "there is one graph, the default one")

    def _form(self) -> str:
        accepted = [part.partition(";")[0].strip().lower() for part in self.headers.get("Accept", "").split(",")]
        return next((_TYPES[kind] for kind in accepted if kind in _TYPES), "json")
