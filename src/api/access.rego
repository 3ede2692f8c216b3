package maestro.api

# Who may do what over the API, by the role of the key. Another policy can take the place of this one: 'maestro server --access
# FILE'. It is asked for every request with what this one reads, and has to define allow in a package below maestro. That a key
# reaches its own tenant alone is not up to a policy.

default allow := false

allow if input.caller.role == "admin"

allow if input.verb in permitted[input.caller.role]

reasons contains sprintf("the role %s does not permit %s", [input.caller.role, input.verb]) if not allow

viewing := {"root.read", "workflow.read", "execution.read", "event.read", "executor.read"}

steering := {
	"execution.start", "execution.pause", "execution.resume", "execution.cancel", "execution.resolve", "execution.retry",
	"execution.compensate", "execution.approve", "execution.signal", "execution.trigger",
}

writing := {"workflow.create", "workflow.activate", "workflow.deactivate", "workflow.delete", "workflow.validate"}

working := {"executor.exchange"}

permitted := {
	"viewer": viewing,
	"operator": viewing | steering,
	"author": viewing | writing,
	"worker": working,
}
