"""A durable state: saved after every update, opened again, read as it was before."""

import tempfile
from pathlib import Path

import tidelog as tl

with tempfile.TemporaryDirectory() as folder:
    state = Path(folder) / "state"
    engine = tl.Engine("ancestor(x, y) :- parent(x, y). ancestor(x, z) :- ancestor(x, y), parent(y, z).")
    engine.apply(insert={"parent": [("ann", "bea"), ("bea", "cy")]})
    engine.save(state)
    engine.apply(delete={"parent": [("bea", "cy")]})
    engine.save(state)

    again = tl.Engine.open(state)
    before = tl.Engine.open(state, version=1)
    print("now:   ", sorted(again["ancestor"]))
    print("before:", sorted(before["ancestor"]))
    again.verify()
