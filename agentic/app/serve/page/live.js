// Adds the events of a run as they happen. Without it, the page shows them when it is loaded again.
// Nothing that arrives is ever HTML: it is set as text.
"use strict";
const list = document.getElementById("events");
const source = new EventSource(`${list.dataset.url}?after=${encodeURIComponent(list.dataset.after)}`);
let reply = null;
const kinds = ["run_start", "turn_start", "message_update", "message_end", "tool_execution_start",
  "tool_execution_end", "approval_request", "approval_answer", "epoch_start", "context_compaction_start",
  "context_compaction_end", "agent_start", "agent_end", "turn_end", "run_end"];
function add(kind, text) {
  const item = document.createElement("li");
  const name = document.createElement("b");
  const body = document.createElement("span");
  item.className = kind;
  name.textContent = kind.replaceAll("_", " ");
  body.textContent = text;
  item.append(name, " ", body);
  list.append(item);
  return body;
}
function show(event) {
  const data = JSON.parse(event.data);
  if (data.type === "message_update") {
    reply ??= add("message_update", "");
    reply.textContent += data.delta;
    return;
  }
  reply = null;
  const { id, type, ...rest } = data;
  add(type, Object.entries(rest).map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("  "));
  if (type === "run_end" || type === "approval_request") {
    source.close();
    location.reload();
  }
}
for (const kind of kinds) source.addEventListener(kind, show);
