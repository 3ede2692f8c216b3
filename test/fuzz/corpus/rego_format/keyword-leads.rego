package test
p if {
  false.foo == {"a", "c"}/
  foo.false == {"a", "c"}
}
false.foo contains "a"
