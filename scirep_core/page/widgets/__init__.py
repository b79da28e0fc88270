"""Widgets that answer a click, in the published page without a kernel and in JupyterLab with one.

Each explorer is one `.py` (plain data in, compact state out, plain twin), one `.js` and one `.css`, which hold only what is its
own: what all share is `common.py`, `common.js` and `common.css`, and `command.js` for those with a papermill command.
"""
