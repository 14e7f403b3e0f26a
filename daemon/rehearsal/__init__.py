"""A local world to rehearse in: Slack and Claude over their real wire. Of the daemon it knows the Clock."""
