"""A turn of the soul on the engine: what it takes first, recall, texts, usage, speech, outage."""
