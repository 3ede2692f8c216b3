package t
import rego.v1
q := input.x
p := y if y := q with input.x as 5 with data.t.base as 2
c := y if y := count([1, 2]) with count as 7
w contains v if walk(input, [["a", _], v])
m := {k: $"{v} {input.none}" | some k, v in input.o}
[x, {"b": z}] := [1, {"b": 2}] if false
