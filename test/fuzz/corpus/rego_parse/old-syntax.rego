package c
allow = true { input.x == 1 }
q[x] { x := input[_] } with input as {"a": 1}
