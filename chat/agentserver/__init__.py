"""Speaks the agent-server's wire: frames, calls, typed events and one client.

Imports nothing of ours and no Django. Everything but `transport` and `client` is free of I/O.
"""
