"""Where code that a model wrote runs, and cannot do harm: monty and CPython children. Knows no soul."""
