"""Where the site's own static files are stored once collected: hashed names, compressed."""

from __future__ import annotations

from servestatic.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Plain names until files were collected, so that `runserver` and tests need no collecting."""

    def stored_name(self, name: str) -> str:
        """The hashed name of a file, or the plain one where nothing was collected yet."""
        if not self.hashed_files:
            return name
        hashed: str = super().stored_name(name)
        return hashed
