package a
j := x if {
  x := 1 } elwse := 2
k := 3
