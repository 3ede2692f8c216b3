package test
import future.keywords.contains
as.fopackage
