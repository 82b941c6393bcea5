#!/usr/bin/env python
"""Runs a Django management command for this site."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the command; a wrong setting ends it with one line that names the setting."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Wrong setting: {error}")


if __name__ == "__main__":
    main()
