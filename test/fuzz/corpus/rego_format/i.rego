package a
p if {
 foo
   with input as 1
   with data.x as 2
 foo with input as 1 with data.z as 2
   with data.x as 2
 foo with input as {
  "a": 1 } with data.x as [1,
  2]
 every k, v in input { k > 1; v < 2 } with input as 1
 some i
 some i, j
 some x in [1,
  2]
 some i, x in {
  "a": 1
 }
 x := y
 x.y.if.z
 x["if"].z
 not x.y with input as 3
 f(g(1,
   2), 3)
 f({"a": 1,
   "b": 2}, 3)
 f(3, {"a": 1,
   "b": 2})
 f([1,
   2], [3,
   4])
 x := sprintf("a %s b",
    [x])
 x := concat(", ", [
   "a", "b"
 ])
 x := array.concat([1], 
   [2])
 x := a +
    b
 x := a + f(
    b, c)
 x = 1 + 
    2 *
    3
 x := object.union(
   {"a": 1},
   {"b": 2},
 )
 x := {
   "a": [1,2,3],

   "b": 3,
 }
 x := { y | 
    some y in input

    y > 1
 }
 x := [ y | y := 1; 
    y > 1
 ]
 x := { y: z |
    some y, z in input }
 [1,2,
 3] == x
 x == [1,2,
 3]
 (
   x + 1
 ) > 2
 x := data.foo[
   "bar"]
 x := data.foo[{
   "bar": 1}]
}
