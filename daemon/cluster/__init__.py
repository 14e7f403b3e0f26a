"""Several daemons on one workspace: who is alive, who does what, and what they share beside the journal."""
