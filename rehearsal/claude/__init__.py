"""Local Messages API, answered by an understudy that admits to being a script.

It reads only the request.
"""
