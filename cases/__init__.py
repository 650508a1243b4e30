"""The cases: `audit.registry` finds the modules that define one.

Folders that GRADAUDIT_CASES names, separated as in PATH, are searched too: cases of one's own, kept outside.
"""

from __future__ import annotations

import os

__path__.extend(folder for folder in os.environ.get("GRADAUDIT_CASES", "").split(os.pathsep) if folder)
