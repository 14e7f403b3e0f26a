"""When it thinks: turns, their steps, speech, questions, the waker, the owner's texts, the budget, limits."""
