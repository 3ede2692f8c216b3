# top comment
package a.b["c-d"].e # trailing pkg


import data.foo
import rego.v1
import input.x as y
# comment on import
import data.bar # trailing import

import data.zed
import data.abc
allow if { input.x }
allow if { input.x; input.y }
allow if {
  input.x
}
allow = true if input.z
allow := true if { input.z }
default allow = false
default foo := 1
f(x) = y if { y := x+1 }
f(x) := x*2
p contains x if { x := 1 }
p contains 1
p contains "a" if true
q[x] := y if { some x, y in [1,2,3]; y>1 }
r = x if { x := 1 } else := 3 if { false } else := 4
g := {"a":1,"b":[1,2,3],"c":{1,2,3}, "d": {}, "e": set(), "f": []}
h := {
  "a": 1, "b": 2,
  "c": 3 }
i := [1,
 2,3]
j := [x | x := [1,2][_]; x > 1]
k := [x | 
  x := [1,2][_]
  x > 1]
l := {x: y | some x; y := [1,2][x]}
m if { every x in [1,2] { x > 0 } }
m if { every k, v in [1,2] { x > 0; v > 1 } ; not foo with input.x as 1 with data.y as {"a": 2} }
n if {
   not input["foo-bar"]
   input["foo"].bar["baz"][x]
   x = input.y # hello
   # own line

   y = (1+2)*3 - x/4 % 2
   z := "a\u0041\n" 
   w := `raw`
   {"a"} & {"b"} | {"c"} == set()
   count(input.x,y)
   some a, b
   some c in d
   1 in [1,2]
   "a", 1 in {"a": 1}
   f(x)[0].y
   input.foo in {"a",
     "b"}
}
