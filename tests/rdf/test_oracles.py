"""Two other reasoners, on random small graphs.

`owlrl` is the reference implementation in Python, `reasonable` one in Rust. Where they differ from us, the difference
is one of those below, each explained; everything else is an error of somebody, and the test says whose triples those
are.
"""

import contextlib
import io

import owlrl
import pytest
import rdflib
import reasonable

from tests.rdf.worlds import world
from tidelog.rdf import IRI, OWL, RDF, RDFS, XSD, BlankNode, Graph
from tidelog.rdf.layouts import is_shown
from tidelog.rdf.literals import from_oxigraph, spelled

SAME = OWL.sameAs


def named(term):
    """Blank nodes under names, because every reasoner gives them other labels."""
    return IRI(f"http://example.org/blank/{term.value}") if isinstance(term, BlankNode) else term


def named_world(*args, **options):
    return [tuple(map(named, triple)) for triple in world(*args, **options)]


def text_of(given):
    return "".join(f"{' '.join(map(spelled, triple))} .\n" for triple in given)


def values(found):
    """rdflib's triples as ours."""
    listed = [tuple(triple) for triple in found]
    terms = iter(from_oxigraph([term.n3() for triple in listed for term in triple]))
    return set(zip(terms, terms, terms))


def by_owlrl(given):
    graph = rdflib.Graph().parse(data=text_of(given), format="nt")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        owlrl.DeductiveClosure(owlrl.OWLRL_Semantics, rdfs_closure=False, axiomatic_triples=False).expand(graph)
    return values(triple for triple in graph if not isinstance(triple[0], rdflib.Literal))


def by_reasonable(given, tmp_path):
    path = tmp_path / "given.ttl"
    path.write_text(text_of(given), encoding="utf-8")
    reasoner = reasonable.PyReasoner()
    reasoner.load_file(str(path))
    return values(reasoner.reason())


def text(term):
    return getattr(term, "value", term)


def is_axiomatic(triple):
    """Types of the vocabulary itself: each reasoner declares other parts of it."""
    subject, predicate, target = map(text, triple)
    vocabulary = (RDF.prefix, RDFS.prefix, OWL.prefix, XSD.prefix)
    return str(subject).startswith(vocabulary) and (
        predicate == RDF.type or str(target).startswith(vocabulary) or subject in (OWL.Nothing, OWL.Thing)
    )


def is_reflexive(triple):
    """x sameAs x (eq-ref, which we have as an option), and what follows from a class or property being itself."""
    subject, predicate, target = triple
    names = (SAME, OWL.equivalentClass, OWL.equivalentProperty, RDFS.subClassOf, RDFS.subPropertyOf)
    return subject == target and text(predicate) in names


def is_error_report(triple):
    """owlrl writes inconsistencies into the graph as triples; we have a relation for them."""
    return "ErrorMessage" in str(triple) or "daml.org" in str(triple)


def is_of_literals(triple):
    """owlrl types and equates literals (dt-type2, dt-eq, dt-diff), which we have as options."""
    return not is_shown(triple)


EXPLAINED = (is_axiomatic, is_reflexive, is_error_report, is_of_literals)


def unexplained(triples):
    return {triple for triple in triples if not any(explains(triple) for explains in EXPLAINED)}


def compare_with_owlrl(seed):
    given = named_world(seed, plain=seed % 2 == 0)
    ours = Graph(given, reasoning="owl-rl")
    theirs = by_owlrl(given)
    assert unexplained(theirs - set(ours)) == set(), f"owlrl has more for {seed}:\n{text_of(given)}"
    assert unexplained(set(ours) - theirs) == set(), f"we have more than owlrl for {seed}:\n{text_of(given)}"


def is_a_thing(triple):
    """reasonable gives owl:Thing to everything it meets; the table gives it to members of declared classes only."""
    return text(triple[2]) == OWL.Thing


def is_schema(triple):
    """reasonable leaves out most of table 9, which derives axioms from axioms."""
    names = (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range, OWL.equivalentClass, OWL.equivalentProperty)
    return text(triple[1]) in names


def compare_with_reasonable(seed, tmp_path):
    """Worlds without owl:Thing among the axioms, because for reasonable everything is one."""
    given = [
        triple
        for triple in named_world(seed, plain=True, with_same=False)
        if OWL.Thing not in map(text, triple) or text(triple[1]) == RDF.type
    ]
    ours = Graph(given, reasoning="owl-rl")
    theirs = by_reasonable(given, tmp_path)
    more = {triple for triple in unexplained(theirs - set(ours)) if not is_a_thing(triple)}
    less = {triple for triple in unexplained(set(ours) - theirs) if not is_schema(triple)}
    assert more == set(), f"reasonable has more for {seed}:\n{text_of(given)}"
    assert less == set(), f"we have more than reasonable for {seed}:\n{text_of(given)}"


def test_owlrl_agrees():
    for seed in range(25):
        compare_with_owlrl(seed)


def test_reasonable_agrees(tmp_path):
    for seed in range(25):
        compare_with_reasonable(seed, tmp_path)


@pytest.mark.long
def test_both_agree_on_many(tmp_path):
    for seed in range(5000, 6500):
        compare_with_owlrl(seed)
        compare_with_reasonable(seed, tmp_path)
