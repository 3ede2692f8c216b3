# Ten thousand rows, gathered under a thousand keys: base data, and rows that a rule has made.
package bench.joins

report := {"all": count(all), "recent": count(recent), "largest": max([count(names) | some names in all])}

all := {key: names |
	some key in data.join_keys
	names := {row.name | some row in data.join_rows; row.key == key}
}

recent_rows := [row | some row in data.join_rows; row.at >= input.since]

recent := {key: names |
	some key in data.join_keys
	names := {row.name | some row in recent_rows; row.key == key}
	count(names) > 0
}
