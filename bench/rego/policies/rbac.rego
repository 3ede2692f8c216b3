# May this user do this to that? Roles and grants are data.
package bench.rbac

default allow := false

allow if is_admin

allow if {
	some grant in grants
	grant.action == input.action
	grant.type == input.type
}

is_admin if "admin" in data.user_roles[input.user]

grants contains grant if {
	some role in data.user_roles[input.user]
	some grant in data.role_grants[role]
}
