"""Facts in, changes out: the whole interface in one page."""

import tidelog as tl

engine = tl.Engine("""
    reach(x, y) :- ferry(x, y).
    reach(x, z) :- reach(x, y), ferry(y, z).
    cut_off(x)  :- port(x), !reach("harbour", x), x != "harbour".
""")
engine.apply(
    insert={
        "port": [("harbour",), ("island",), ("lighthouse",)],
        "ferry": [("harbour", "island"), ("island", "lighthouse")],
    }
)

change = engine.apply(delete={"ferry": [("harbour", "island")]})
print(change.summary())

change = engine.apply(insert={"ferry": [("harbour", "lighthouse")]}, add_rules="day_trip: trip(x) :- reach(x, _).")
print(change.summary())
print(engine.explain("reach", ("harbour", "lighthouse")))

engine.apply(remove_rules=["day_trip"])
engine.verify()
print("equal to recomputation")
