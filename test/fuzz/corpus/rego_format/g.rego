package a

a if {
	x := (1 == 2) == true
	x := (a > b) + 1
	x := [a+b, c*d]
	x := f(a+b*c, (a|b))
	x := {a+b: c*d}
	x := {a+b, c*d}
	x := a[b+c].d[e*(f+g)]
	x := {"c", "a", "b"}
	x := {"c": 1, "a": 2, "b": 3, "a": 4}
	x := {3, 1, 2} | {5, 4}
	x := (a + b) in c
	(a + b) in c
	x := a == b
	y := a in b == c
	y := (a in b) == c
	y := a in (b == c)
	a & b
	a | b > c
	not (a == b)
	(a == b)
	[1, 2][0]
	{"a": 1}.a
	f(x).y
	[x | x := 1][0]
	x := $"foo {a+b} bar {f(x)}"
	x := $`foo {a} \n`
	not not_x
}
a2 if {
	x := y with input as 1
	a := 1; b := 2; c := 3 # trail
}
b if
  input.x
c if { x == {"a":
  1,
  "b": 2} }
c1 if x == {
  "a": 1,
  "b": 2 }
c2 if { x == {
  "a": 1,
  "b": 2 } }
d if true
e := 2 if { true }
f := 2 if true
f2 contains 1 if { true; true }
g := f(
 1
)
g1 := f(
 1, 2
)
g2 := f(
 1,
 2
)
g3 := f(1, 
 [2, 3])
h := [x
 | x := 1]
h1 := [
 x | x := 1
]
h2 := {
 x: y |
 x := 1; z := 2
 y := 2
}
h3 := { x:
  y | x := 1; y := 2 }
i := x if {
 x := 1
} else := 2 if { input.x } else := 3 if { input.x; input.y } else := {
 "a": 1
}
j := { "a": {
    "b": 1
  }, "c": 2 }
j1 := { "a": 1, "b": {
    "b": 1
  }, "c": 2 }
k := [{
  "a": 1
 }, {
  "b": 2
 }]
k2 := [{"a": 1}, {"b": 2},
]
l := [[1,2],
 [3,4]]
default fn(_) := 1
default m = {"a":
 2}
