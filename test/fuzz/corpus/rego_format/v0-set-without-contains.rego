package test
import future.keywords.if
a.f { b := "b"; c := "c" }
a.b.c.allow if true
