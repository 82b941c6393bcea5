"""Speaks the agent-server's wire: frames, calls, typed events and one client.

Imports nothing of ours and no Django. The I/O is in `transport` and, on top of it, `connection`
and `client`; the rest is pure.
"""
