package b

xs := [x | x := input[_]; x != null]
ys := {k: v | some k, v in input.o}
zs := {1, "two", {"three": [4]}}
p if every x in xs { x > 1 }
