"""Crash testing by fault injection: one vocabulary for the engine, the core and the wire.

A *scenario* runs in *phases*, between which time passes. In a phase, *worker runs* (processes) follow each
other until nothing is left to do. A *fault* kills or pauses a run at a *kill point*. *Checks* of the journal
and the world follow the last run; a failed check reports a *violation*.
"""
