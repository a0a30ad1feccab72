"""A stream of updates: each is answered with its change, while the next one is already looked at."""

import tidelog as tl

RULES = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
ring = [(number, (number + 1) % 60) for number in range(60)]
updates = [{"insert": {"edge": ring}}]
updates += [{"delete": {"edge": [ring[at]]}, "insert": {"edge": [(at, (at + 2) % 60)]}} for at in range(0, 60, 6)]

for strategy in ("dred", "bf", "bf-mark", "auto"):
    engine = tl.Engine(RULES, strategy=strategy)
    changes = list(engine.follow(updates))
    engine.verify()
    derivations = sum(change.stats.total_derivations for change in changes[1:])
    print(f"{strategy:>8}: {len(engine['path']):,} paths, {derivations:,} derivations for {len(changes) - 1} updates")
