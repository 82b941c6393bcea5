"""One upstream connection per conversation: its life, its outbox, its owner, its publishing."""
