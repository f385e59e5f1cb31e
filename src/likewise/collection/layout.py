"""How the files and folders of a collection are named: others in its folders are left alone."""

from __future__ import annotations

import re

POINTER = "manifest.json"
MANIFESTS = "manifests"
DATA = "data"
WORK = "work"
# Jobs work in folders with names of their own, but for an upgrade, which finds its own again.
UPGRADE = "upgrade"
# In the folder of a job that can be resumed.
PLAN = "plan.json"
LOCK = "lock"
# What ends the name of a file that is about to take the place of another.
NEW = ".new"

MANIFEST_FILE = re.compile(r"([0-9]{8,})\.json")
DATA_FILE = re.compile(r"[\w-]+-[0-9a-f]{12}\..+", re.DOTALL)
JOB = re.compile(rf"[0-9a-f]{{12}}|{UPGRADE}")
