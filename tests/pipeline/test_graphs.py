"""Pipelines over RDF: sources are graphs, a kind of reasoning is a key, an axiom that comes or goes is an update."""

import json

import pytest

from tests.pipeline.places import Recorder
from tidelog import rdf
from tidelog.pipeline.job import run_pipeline
from tidelog.pipeline.settings.config import read_pipeline
from tidelog.pipeline.status import Status

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
