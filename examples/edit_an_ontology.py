"""Edit the ontology of a running graph: an axiom comes as a rule, is explained, and goes again."""

from tidelog import rdf

EX = rdf.Namespace("http://example.org/")
ann, dept = rdf.IRI(EX.ann), rdf.IRI(EX.sales)
a, subclass = rdf.IRI(rdf.RDF.type), rdf.IRI(rdf.RDFS.subClassOf)

kg = rdf.Graph(
    [
        (ann, rdf.IRI(EX.headOf), dept),
        (rdf.IRI(EX.headOf), rdf.IRI(rdf.RDFS.domain), rdf.IRI(EX.Chair)),
        (rdf.IRI(EX.Chair), subclass, rdf.IRI(EX.Employee)),
    ],
    reasoning="owl-rl",
)
print("Ann is a chair:", (ann, a, rdf.IRI(EX.Chair)) in kg)

axiom = (rdf.IRI(EX.Employee), subclass, rdf.IRI(EX.Person))
print("Would touch:", sorted(kg.preview(insert=[axiom]).gaining))

change = kg.apply(insert=[axiom])
print("Came:", *(f"\n  {s} {p} {o}" for s, p, o in sorted(change.inserted, key=str)))
print(kg.explain((ann, a, rdf.IRI(EX.Person))))

change = kg.apply(delete=[axiom])
print("Went:", len(change.deleted), "triples; Ann is a person:", (ann, a, rdf.IRI(EX.Person)) in kg)
