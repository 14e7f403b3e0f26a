"""Soul daemon: a participant in a Slack workspace whose only memory is a journal. See
docs/ARCHITECTURE.md.
"""
