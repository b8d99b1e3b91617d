"""Prints the JSON Schema: python -m agentic.app.config > agentic/app/config/agent.schema.json."""

import json
import sys

from agentic.app.config._records import schema

sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
