"""Pipelines over RDF: sources are graphs, a kind of reasoning is a key, an axiom that comes or goes is an update."""

import json

import pytest

from tests.backends.spark.engines import BULK, PAGED, driver
from tests.pipeline.places import Recorder
from tidelog import rdf
from tidelog.errors import TidelogError
from tidelog.pipeline.job import run_pipeline
from tidelog.pipeline.settings.config import read_pipeline
from tidelog.pipeline.status import Status
from tidelog.rdf.literals import spelled

ONTOLOGY = """
@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Chair rdfs:subClassOf :Professor . :Professor rdfs:subClassOf :Person . :headOf rdfs:domain :Chair .
"""
DATA = '<http://e/ann> <http://e/headOf> <http://e/cs> .\n<http://e/ann> <http://e/age> "41" .\n'
SETTINGS = """
program = "rules.dl"
state = "state"
reasoning = "{reasoning}"
[engine]
backend = "{backend}"
[sources.ontology]
format = "rdf"
path = "ontology.ttl"
[sources.data]
format = "rdf"
path = "data"
[updates]
path = "updates"
[[sinks]]
format = "parquet"
path = "changes"
[[sinks]]
what = "relations"
relations = ["triple"]
format = "parquet"
path = "triples"
"""
RULES = "@prefix : <http://e/> .\n:Boss(x) :- :Chair(x), :headOf(x, y), y != x.\n"


def node(name):
    return {"@id": f"http://e/{name}"}


def a_place(tmp_path, backend, reasoning):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.nt").write_text(DATA)
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY)
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "pipeline.toml").write_text(SETTINGS.format(backend=backend, reasoning=reasoning))
    (tmp_path / "updates").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("backend", "reasoning"),
    [("local", "rdfs"), ("spark", "rdfs"), pytest.param("local", "owl-rl", marks=pytest.mark.long)],
)
def test_a_graph_is_reasoned_over_and_kept_true(spark, tmp_path, backend, reasoning):
    """What a pipeline holds is what `rdf.Graph` derives, before and after an axiom is retracted."""
    folder = a_place(tmp_path, backend, reasoning)

    def run():
        return run_pipeline(read_pipeline(folder / "pipeline.toml"), Status(Recorder()), once=True, spark=spark)

    kg = rdf.Graph(str(folder / "ontology.ttl"), str(folder / "data"), reasoning=reasoning, rules=RULES)
    engine = run()
    assert set(engine["triple"]) == set(kg)
    boss = (rdf.IRI("http://e/ann"), rdf.IRI(rdf.RDF.type), rdf.IRI("http://e/Boss"))
    assert boss in engine["triple"]
    engine.close()
    axiom = [node("Chair"), {"@id": rdf.RDFS.subClassOf}, node("Professor")]
    (folder / "updates" / "1.jsonl").write_text(json.dumps({"delete": [["triple", *axiom]]}) + "\n")
    kg.apply(delete=[tuple(rdf.IRI(one["@id"]) for one in axiom)])
    engine = run()
    assert set(engine["triple"]) == set(kg)
    assert (boss[0], boss[1], rdf.IRI("http://e/Person")) not in engine["triple"]
    engine.close()
    rows = spark.read.parquet(str(folder / "changes")).where("op = 'delete'").collect()
    gone = [tuple(rdf.IRI(one["@id"]) for one in json.loads(row["values"])) for row in rows]
    assert (boss[0], boss[1], rdf.IRI("http://e/Professor")) in gone
    assert spark.read.parquet(str(folder / "triples")).count()


MANY = [f"<http://e/x{n}> <http://e/knows> <http://e/x{n * 7 % 60}> ." for n in range(60)]
MANY += [f"<http://e/x{n}> a <http://e/{'Chair' if n % 3 else 'Student'}> ." for n in range(60)]
SCHEMA = """
@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:knows a owl:TransitiveProperty ; owl:inverseOf :known ; rdfs:range :Person . :Student rdfs:subClassOf :Person .
:Fan owl:onProperty :knows ; owl:someValuesFrom :Chair . :Mixed owl:intersectionOf ( :Fan :Student ) .
"""


@pytest.mark.parametrize("capacity", [PAGED, pytest.param(BULK, marks=pytest.mark.long)])
def test_a_graph_too_large_for_the_driver(spark, tmp_path, capacity):
    """Nothing is small: triples come to Spark packed, stages are derived there, and a sink is written from there.

    Then an axiom goes and a triple comes, with a restart between.
    """
    folder = a_place(tmp_path, "spark", "owl-rl")
    (folder / "ontology.ttl").write_text(SCHEMA)
    (folder / "data" / "people.nt").write_text(
        "".join(f"{one}\n" for one in MANY).replace(" a ", f" <{rdf.RDF.type}> ")
    )
    (folder / "rules.dl").write_text("")
    kg = rdf.Graph(str(folder / "ontology.ttl"), str(folder / "data"), reasoning="owl-rl")
    triples = sorted(tuple(map(spelled, one)) for one in kg if not any("_:" in str(term) for term in one))

    def run():
        return run_pipeline(read_pipeline(folder / "pipeline.toml"), Status(Recorder()), once=True, spark=spark)

    with driver(spark, capacity):
        engine = run()
        assert engine.is_split
        seen = sorted(tuple(map(spelled, one)) for one in engine["triple"] if not any("_:" in str(t) for t in one))
        assert seen == triples
        (published,) = (folder / "triples").glob("*/version=*")
        assert spark.read.parquet(str(published)).count() == engine.size("triple")
        engine.close()
        gone = [{"@id": f"http://e/{name}"} for name in ("Fan", "knows", "Chair")]
        gone[1] = {"@id": "http://www.w3.org/2002/07/owl#someValuesFrom"}
        come = [node("x0"), {"@id": rdf.RDF.type}, node("Student")]
        said = {"delete": [["triple", *gone]], "insert": [["triple", *come]]}
        (folder / "updates" / "1.jsonl").write_text(json.dumps(said) + "\n")
        engine = run()
        kg.apply(*([tuple(rdf.IRI(one["@id"]) for one in row)] for row in (come, gone)))
        left = {one for one in engine["triple"] if not any("_:" in str(t) for t in one)}
        assert left == {one for one in kg if not any("_:" in str(t) for t in one)}
        engine.verify()
        engine.close()


@pytest.mark.parametrize("backend", ["local", pytest.param("spark", marks=pytest.mark.long)])
def test_literals_that_are_ill_typed_and_updates_that_name_classes(spark, tmp_path, backend):
    """A bad literal is an inconsistency, of a source or of an update; an update may say `Chair(x)` for a triple.

    Rules and facts about classes that came through an update were about relations that nothing else knew, and the rule
    dt-not-type had no facts to work with.
    """
    folder = a_place(tmp_path, backend, "owl-rl")
    bad = '"old"^^<http://www.w3.org/2001/XMLSchema#integer>'
    (folder / "data" / "bad.nt").write_text(f"<http://e/bob> <http://e/age> {bad} .\n")
    update = {
        "insert": [
            ["http://e/Chair", node("cid")],
            ["http://e/age", node("cid"), {"@value": "young", "@type": "http://www.w3.org/2001/XMLSchema#integer"}],
        ],
        "add_rules": "@prefix : <http://e/> .\n:Known(x) :- :Professor(x).",
    }
    negating = {"add_rules": "@prefix : <http://e/> .\n:Idle(x) :- :Person(x), !:Boss(x), triple(x, _, _)."}
    lines = "".join(f"{json.dumps(one)}\n" for one in (update, negating))
    (folder / "updates" / "1.jsonl").write_text(lines)
    settings = (folder / "pipeline.toml").read_text()
    (folder / "pipeline.toml").write_text(settings.replace('state = "state"', 'state = "state"\non_bad = "reject"'))
    recorder = Recorder()
    engine = run_pipeline(read_pipeline(folder / "pipeline.toml"), Status(recorder), once=True, spark=spark)
    assert {one.value for _, one, _ in engine["inconsistency"]} == {"old", "young"}
    assert (rdf.IRI("http://e/cid"), rdf.IRI(rdf.RDF.type), rdf.IRI("http://e/Known")) in engine["triple"]
    assert not any(":" in name for name in engine.relations)
    engine.close()
    assert [event["count"] for event in recorder.of("rejects")] == [1]


def test_a_program_that_negates_a_class_is_refused(tmp_path):
    """Where it speaks of triples as such: with the rule's place, before Spark is started."""
    folder = a_place(tmp_path, "local", "owl-rl")
    (folder / "rules.dl").write_text("@prefix : <http://e/> .\n:Idle(x) :- triple(x, _, _), !:Boss(x).\n")
    with pytest.raises(TidelogError, match=r"rules.dl:2:\d+  E212"):
        run_pipeline(read_pipeline(folder / "pipeline.toml"), Status(Recorder()), once=True)
