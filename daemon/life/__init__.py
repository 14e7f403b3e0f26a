"""When it thinks: turns and their steps, speech, the waker, the owner's texts, the budget."""
