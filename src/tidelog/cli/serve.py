"""`tidelog serve SOURCE ... --reasoning owl-rl`: a SPARQL endpoint on this machine.

What      : reads RDF files or folders, reasons, and answers the SPARQL 1.1 protocol on a loopback address.
Invariant : read-only unless `--writable`; every query has limits that really stop it; nothing is ever fetched.
Never     : nothing is written to files.
"""

from __future__ import annotations

import argparse

from tidelog.cli import Subparsers


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("serve", help="answer SPARQL over RDF files, with reasoning")
    parser.add_argument("sources", metavar="SOURCE", nargs="+", help="RDF files or folders: ontologies and data")
    parser.add_argument("--reasoning", metavar="NAME", default="none", help="none, rdfs or owl-rl (default: none)")
    parser.add_argument("--port", type=int, default=7878, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--writable", action="store_true", help="allow SPARQL updates")
    parser.add_argument("--limit-seconds", type=float, default=30.0, metavar="S", help="(default: %(default)s)")
    parser.add_argument("--limit-bytes", type=int, default=2 << 30, metavar="N", help="memory of one query")
    parser.add_argument("--limit-result", type=int, default=256 << 20, metavar="N", help="bytes of one answer")


def run(args: argparse.Namespace) -> int:
    """Reason, then answer until interrupted."""
    from tidelog import rdf
    from tidelog.rdf.endpoint import Endpoint
    from tidelog.rdf.evaluation_process import QueryLimits

    kg = rdf.Graph(*args.sources, reasoning=args.reasoning)
    limits = QueryLimits(args.limit_seconds, args.limit_bytes, args.limit_result)
    endpoint = Endpoint(kg, port=args.port, writable=args.writable, limits=limits)
    kind = "read and write" if args.writable else "read-only"
    print(f"{len(kg):,} triples at {endpoint.url} ({kind}); end with Ctrl-C", flush=True)
    try:
        endpoint.serve()
    except KeyboardInterrupt:
        endpoint.close()
    return 0
