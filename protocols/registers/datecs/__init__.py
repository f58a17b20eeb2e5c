"""Registers with the frame of Datecs: the Ukrainian dialect and the classic one."""
