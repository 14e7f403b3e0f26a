"""Anthropic's Messages API on loopback, played by an understudy that says that it is one.

It knows nothing of any daemon: it reads only the request, as Claude does.
"""
