"""Prints the JSON Schema: python -m agentic.config > agentic/config/agent.schema.json."""

import json
import sys

from agentic.config import schema

sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
