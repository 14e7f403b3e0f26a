"""The model: which there are, how a working memory becomes a request, and the client that sends it."""
