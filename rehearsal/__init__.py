"""A local world to rehearse in: Slack and Claude over their real wire. It knows nothing of the daemon."""
