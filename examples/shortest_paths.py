"""Shortest paths that are kept true while roads close and open: a minimum inside a recursion."""

import tidelog as tl

engine = tl.Engine("""
    dist(y, m)  :- town(y), m = min c : { way(y, c) }.
    way(x, 0)   :- home(x).
    way(y, c+w) :- dist(x, c), road(x, y, w).
""")
towns = range(12)
roads = [(town, (town + 1) % 12, 1) for town in towns] + [(0, 6, 4), (6, 9, 1)]
engine.apply(insert={"town": [(town,) for town in towns], "home": [(0,)], "road": roads})
engine.prepare()  # what the first small deletion would build is built now

print("from 0 to 9:", list(engine.query("dist(9, km)")))
change = engine.apply(delete={"road": [(0, 6, 4)]})
print(change.summary())
print("from 0 to 9:", list(engine.query("dist(9, km)")))
engine.verify()
