"""Names as folders of sinks.

What      : `folder_name` and `folder_in_bytes`, as they are everywhere (changes/folders.py), and how our own names begin,
            which no folder of a relation does.
Never     : nothing is looked up or written here.
"""

from tidelog.changes.folders import LONGEST, OWN, folder_in_bytes, folder_name

__all__ = ["LONGEST", "OWN", "folder_in_bytes", "folder_name"]
