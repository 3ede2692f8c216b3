package t
p := [x, y, z] if { [x, [y, 3]] = [1, [2, z]]; {"a": x} = {"a": w}; w == 1 }
e := data[k][j] if { k := "roles"; j := "alice" }
t contains [a, b] if { data[a] = b }
