package t
import rego.v1
default allow := false
allow if { some role in data.roles[input.user]; role == "admin" }
s contains x if { some x in input.a; x > 1 }
o[k] := v if some k, v in input.o
f(x) := y if { y := x + 1 } else := 0
r := [f(x) | x := input.a[_]; not s[x]]
p.q[x].r := 1 if some x in ["a"]
all if every x in s { x > 0 }
