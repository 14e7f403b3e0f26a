"""Stories told through the real wire: real bolt, real anthropic SDK, real SQLite, a rehearsed world."""
