"""Tools of MCP servers: connections, recorded lists, calls, approvals; and the soul as a server."""
