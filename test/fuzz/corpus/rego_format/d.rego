package a
a if { input.x; input.y }
b := 1
d := 2 if { input.x }
e := 2 if {
 input.x
}
f if input.x
g if input.y

h if {
 input.x }
i if input.z
j := x if {
  x := 1 } else := 2
k := 3
l := x if { x := 1 } else := 2 if { input.x; input.y } else := 3 if input.z
m := 3
n if { input.x } else if { input.y }
o := 1
p := x if {
 x := 1
}
else := 2 if {
 # comment in else
 x := 1
} # trail
else := 3 # trail 2
# between
q := 1
f(a, b) if a > b
f(a, {"x": y}) := y if y > 1
f(a, [1,
2]) := 1
t[a].b[c] := 1 if { some a, c in input }
t.b.c := 2
t contains x if some x in input
u.v contains x if some x in input
w := true
w = false
w := x if { x = 1 }
