package a

p if {
  a == 1; b == 2
  c == 3
  
  every x in [1,2] {
    x > 1
  }
  every x in [1,2] { x > 1
   x < 2 }
  every x in [
   1, 2] { x > 1 }
  f(1, 
   2)
  x := {y |
   y := 1 }
  count({1,
   2}) > 2
  not foo(1,
    2)
  not x
  foo with input as {"a": 1,
    "b": 2}
  foo with input as 1
    with input.b as 2
  x := [1,2,3
  ][_]
  { "a" | true }
  x == { "a": 1 }[y]
  some x, i in input.z
  1 + 2 == 3
  not 1 == 2
  x := 1 == 2
  y := (1 == 2)
  x = y
  [x, y] = [1, 2]
  {"a": x} = input
  true
  "foo"
  a.b.c(1)
  a["b"](1)
  x := a | b & c
  x := a - b - c
  x := a - (b - c)
  x := a + b * c
  x := (a + b) * c
  x := a * b + c
  (a + b) > (c)
  a[_].b[_]
  a[b.c][d[e]]
  a["b c"]["_x"]["1a"]["ab1"]["if"]["in"]["package"]["contains"]["not"]
  x := {1, 2, 2}
  x := 1.50
  x := 1e3
  x := "a\tb\"c\\"
  x := "é\u00e9"
  x := null
  print("x", x)
  a in b
  x := a in b
  x := (a in b)
  f(a in b)
  f((a in b))
  [a in b, c]
  [(a in b), c]
  {a: b in c}
  {"a" : 1 , "b" : (1, 2 in c)}
  x := -1
  walk(input, [path, value])
}
