# A report over people and projects: comprehensions inside comprehensions, grouped by values of the outer ones.
package bench.groups

report := {
	"teams": teams,
	"skills": skills,
	"pairs": count(pairs),
	"busy": busy,
	"missing": missing,
}

in_scope contains person if {
	some person in data.people
	person.level >= input.level
	not person.team in input.hidden
}

team_names := {person.team | some person in in_scope}

teams := {team: summary |
	some team in team_names
	members := [person | some person in in_scope; person.team == team]
	summary := {
		"names": [person.name | some person in members],
		"levels": {person.level | some person in members},
		"skills": {skill | some person in members; some skill in person.skills},
		"hours": sum([person.hours | some person in members]),
	}
}

skills := {skill: names |
	some person in in_scope
	some skill in person.skills
	names := sort([other.name | some other in in_scope; skill in other.skills])
}

pairs contains {a.name, b.name} if {
	some a in in_scope
	some b in in_scope
	a.name < b.name
	a.team == b.team
	count({skill | some skill in a.skills} & {skill | some skill in b.skills}) > 0
}

busy := {name |
	some team, summary in teams
	some name in summary.names
	summary.hours > 40 * count(summary.names)
}

missing := {project.name: lacking |
	some project in data.projects
	have := {skill | some person in data.people; person.team == project.team; some skill in person.skills}
	lacking := {skill | some skill in project.needs} - have
	count(lacking) > 0
}
