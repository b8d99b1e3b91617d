"""The hand-over note that needs no model: what was asked, what changed, where things stand."""
