"""The embedded literature's tasks of SciMult."""
