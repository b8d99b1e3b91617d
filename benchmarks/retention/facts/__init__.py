"""Five facts that a successor needs from a hand-over note, and whether a text has them.

What is true is read from the recorded messages as they lie in the file: OpenAI chat messages, a
JSON object each. What a text says is read from its characters alone. Nothing here imports anything
of `agentic`, so that no pattern, constant or reading is shared with what is judged.
"""
