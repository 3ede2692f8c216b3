# Does this allocation still fit what its team has left? Ten thousand allocations are data.
package bench.quota

decision := {"allow": allow, "used": used, "left": left, "running": count(running)}

default allow := false

allow if {
	input.cpu <= left.cpu
	input.memory <= left.memory
	count(running) < data.quota_limits[input.team].count
}

running contains name if {
	some name, allocation in data.allocations
	allocation.team == input.team
	allocation.state == "running"
}

used := {
	"cpu": sum([data.allocations[name].cpu | some name in running]),
	"memory": sum([data.allocations[name].memory | some name in running]),
}

left := {
	"cpu": data.quota_limits[input.team].cpu - used.cpu,
	"memory": data.quota_limits[input.team].memory - used.memory,
}
