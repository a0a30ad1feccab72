"""Faults on purpose: processes that die, disks that fail, files that rot."""
