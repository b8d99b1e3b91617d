"""`agentic serve` and `agentic work`: an agent of `app.config` as a service over HTTP.

It is started by the command; `durable.dbos.Service` is the same in Python.
"""

__all__: list[str] = []
