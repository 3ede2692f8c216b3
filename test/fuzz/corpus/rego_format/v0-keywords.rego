package a
import future.keywords.contains
import future.keywords.if

a { input.x }
b { input.x; input.y }
c = 1 { input.x }
c := 1
c = 2
d[x] { x := 1 }
d[x] = y { x := 1; y := 2 }

d.x { input.y }
e { input.x } { input.y }
f(x) { x > 1 } else = 2 { x > 2 } else = 3
g = x {
  x := 1
} {
  x := 2
}
h = true
i[1]
j.k.l = 2
default k = 1
l { true }
m[x] = 1
n { a.b
}
o {
 some x
 input[x]
} else { true }
