"""Names as folders of sinks.

What      : `folder_name` and `folder_in_bytes`, as they are everywhere (changes/folders.py), and `OWN`, with which the
            names of our own folders begin.
Never     : nothing is looked up or written here.
"""

from tidelog.changes.folders import LONGEST, OWN, folder_in_bytes, folder_name

__all__ = ["LONGEST", "OWN", "folder_in_bytes", "folder_name"]
