"""Engines: ways to run a plan. Embedded in the process for now."""
