package maestro.policies.change_management

# A change has a ticket, or an incident that is its ticket.
default allow := false

allow if input.run.payload.ticket

allow if input.run.payload.incident
