package a

a := {
  # first
  "a": 1, # trail a
  "b": 2,
  # between

  "c": [
    1, # one
    2
    # after two
  ],
  "d": 4
  # last
}

b := [1, 2,
  3]

c := [
  1, 2, 3
]

d := {"a": {"b": 1,
  "c": 2}}

e := f(1, 2,
  3)

f := g(
  1, {"a": 1,
  "b": 2}
)
g := sprintf("%v", [
  1,
  2
])
h := {
  1,

  2
}
i := [x |
  # comment
  x := 1 # trail
  # after
]
j := {"a": [x | x := 1
  y := 2]}
k := [ # comment open
  1
]
l := a.b[ "c"][{"x": 1}][[1,2]]
m := a[1+2]
n := -1
o := 1 - -1
p := (1)
q := ((1 + 2))
r := {
}
s := [
]
t := {"a":
  1}
u := foo(
  # comment
  1
)
v := [1, 2
 , 3, 4, 
 5
]
