"""A circuit without an engine: a join, a group, a window and a recursion, fed with changes."""

from tidelog.circuits import Circuit

circuit = Circuit()
sold, price = circuit.input("sold", 3), circuit.input("price", 2)  # (day, shop, item), (item, cents)
part_of = circuit.input("part_of", 2)

turnover = sold.window(column=0, width=7).join(price, on=[(2, 0)]).select(1, 0, 2, 4)
circuit.output("turnover of the last seven days", turnover.aggregate("sum", 3, by=[0]))
circuit.output("parts", circuit.fixpoint(2, lambda parts: part_of + part_of.join(parts, on=[(1, 0)]).select(0, 3)))

circuit.push(price=[("tea", 300), ("cup", 900)], part_of=[("handle", "cup"), ("cup", "set")])
for day in range(10):
    change = circuit.push(sold=[(day, "north", "tea"), (day, "south", "cup")])
print(
    "the tenth day:", change["turnover of the last seven days"].to_dict() or "nothing changes: as much leaves as comes"
)
change = circuit.push(price=circuit.change("price", delete=[("tea", 300)], insert=[("tea", 350)]))
print("tea is dearer:", change["turnover of the last seven days"].to_dict())
change = circuit.push(part_of=circuit.change("part_of", delete=[("cup", "set")]))
print("the set is broken up:", change["parts"].to_dict())
print(f"{len(circuit.wires)} operators keep {circuit.nbytes:,} bytes")
