package t
p[x] { x := input.a[_]; not q[x] }
q[1]
r = {x: y | y := input.o[x]}
else = 1 { true }
