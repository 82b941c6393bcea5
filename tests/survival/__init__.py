"""Things that go wrong, on purpose and at random moments, around real processes."""
