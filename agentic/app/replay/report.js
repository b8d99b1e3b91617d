"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const told = data.marks;
  const card = document.getElementById("card");
  const number = new Intl.NumberFormat("en-US");
  let shown = null;
  let pinned = false;

  const element = (name, content, className) => {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    if (className) made.className = className;
    return made;
  };

  const tell = (cut) => {
    const parts = [element("h4", `Request ${number.format(cut.request)}`)];
    const share = cut.before ? Math.round(100 * (1 - cut.after / cut.before)) : 0;
    const sizes = `${number.format(cut.before)} → ${number.format(cut.after)} tokens`;
    parts.push(element("p", `${sizes}  (${share >= 0 ? "−" : "+"}${Math.abs(share)} %)`, "sizes"));
    if (cut.what.length) {
      const list = element("ul");
      for (const line of cut.what) list.append(element("li", line));
      parts.push(list);
    } else parts.push(element("p", "Nothing is gone but its place.", "quiet"));
    if (cut.summary) {
      parts.push(element("p", "In its place, this summary:", "quiet"));
      const rest = cut.more ? `\n… ${number.format(cut.more)} more characters` : "";
      const text = element("pre", cut.summary + rest);
      text.tabIndex = 0;
      parts.push(text);
    }
    return parts;
  };

  const place = (mark) => {
    const at = mark.querySelector(".reach").getBoundingClientRect();
    const width = card.offsetWidth;
    const height = card.offsetHeight;
    const room = document.documentElement.clientWidth;
    const left = Math.max(12, Math.min(at.left + at.width / 2 - width / 2, room - width - 12));
    const below = at.bottom + 8 + height <= window.innerHeight || at.top - 8 - height < 0;
    const top = below ? at.bottom + 4 : at.top - 4 - height;
    card.style.left = `${left + window.scrollX}px`;
    card.style.top = `${top + window.scrollY}px`;
  };

  const hide = () => {
    if (shown) shown.removeAttribute("aria-expanded");
    shown = null;
    pinned = false;
    card.hidden = true;
  };

  const show = (mark) => {
    if (shown !== mark) hide();
    shown = mark;
    const panel = mark.closest("[data-panel]").dataset.panel;
    const cuts = told[panel][Number(mark.dataset.group)];
    card.replaceChildren();
    cuts.forEach((cut, at) => {
      if (at) card.append(element("hr"));
      card.append(...tell(cut));
    });
    const more = Number(mark.dataset.count) - cuts.length;
    if (more > 0) card.append(element("p", `and ${number.format(more)} more in this place`, "quiet"));
    card.hidden = false;
    mark.setAttribute("aria-expanded", "true");
    place(mark);
  };

  const markOf = (event) => (event.target.closest ? event.target.closest(".mark") : null);

  document.addEventListener("pointerover", (event) => {
    const mark = markOf(event);
    if (mark && !pinned && event.pointerType !== "touch") show(mark);
  });
  document.addEventListener("pointerout", (event) => {
    const mark = markOf(event);
    if (!mark || pinned || mark.contains(event.relatedTarget) || card.contains(event.relatedTarget)) return;
    if (document.activeElement !== mark) hide();
  });
  card.addEventListener("pointerleave", () => { if (!pinned) hide(); });
  document.addEventListener("click", (event) => {
    const mark = markOf(event);
    if (mark) {
      const again = pinned && shown === mark;
      if (again) { hide(); return; }
      show(mark);
      pinned = true;
    } else if (!card.contains(event.target)) hide();
  });
  document.addEventListener("focusin", (event) => {
    const mark = markOf(event);
    if (mark && mark.matches(":focus-visible")) { pinned = false; show(mark); }
    else if (!mark && !pinned && !card.contains(event.target)) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { hide(); return; }
    const mark = markOf(event);
    if (!mark) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      show(mark);
      pinned = true;
      return;
    }
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const marks = [...mark.closest("svg").querySelectorAll(".mark")];
    let next = marks.indexOf(mark) + (step || 0);
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = marks.length - 1;
    const target = marks[Math.max(0, Math.min(next, marks.length - 1))];
    mark.setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
    target.focus();
  });
  window.addEventListener("resize", hide);

  const place_at = (x, y) => {
    const room = document.documentElement.clientWidth;
    const left = Math.max(12, Math.min(x + 14, room - card.offsetWidth - 12));
    card.style.left = `${left + window.scrollX}px`;
    card.style.top = `${y + 18 + window.scrollY}px`;
  };
  for (const chart of document.querySelectorAll("[data-overview]")) {
    const sizes = data.sizes[chart.dataset.overview];
    const left = Number(chart.dataset.left);
    const right = Number(chart.dataset.right);
    const cursor = chart.querySelector(".cursor");
    const leave = () => { chart.classList.remove("hovered"); if (!shown) card.hidden = true; };
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const x = (event.clientX - box.left) * chart.viewBox.baseVal.width / box.width;
      if (pinned || x < left - 8 || x > right + 8) { leave(); return; }
      const last = sizes[0].length - 1;
      const at = Math.max(0, Math.min(last, Math.round(((x - left) / (right - left)) * last)));
      const line = last ? left + ((right - left) * at) / last : (left + right) / 2;
      cursor.setAttribute("x1", line);
      cursor.setAttribute("x2", line);
      chart.classList.add("hovered");
      card.replaceChildren(element("h4", `Request ${number.format(at + 1)}`));
      const list = element("ul", undefined, "sizes-of");
      sizes.forEach((of, policy) => {
        const item = element("li", undefined, `p${policy % 8}`);
        item.append(element("i", undefined, "chip"));
        item.append(element("span", data.policies[policy]));
        item.append(element("b", number.format(of[at])));
        list.append(item);
      });
      card.append(list);
      card.hidden = false;
      place_at(event.clientX, event.clientY);
    });
    chart.addEventListener("pointerleave", leave);
  }

  const says = ([role, text, more], className) => {
    const item = element("li", undefined, className);
    const whole = element("details");
    // A call is its name on one line and its arguments on the next ones.
    const first = text.slice(0, 200).replace(/\s+/g, " ");
    const head = element("summary");
    head.append(element("b", role), element("span", first || "(no text)"));
    whole.append(head, element("pre", text + (more ? `\n… ${number.format(more)} more characters` : "")));
    item.append(whole);
    return item;
  };
  const gap = (count) => element("li", `${number.format(count)} not sent`, "gap");

  // Only what is visible is drawn: a request of 3,000 messages would be 42,000 nodes.
  const CHUNK = 100;
  const draw = (list, makers) => {
    let drawn = 0;
    const more = () => {
      const fresh = makers.slice(drawn, drawn + CHUNK).map((make) => make());
      drawn += fresh.length;
      list.append(...fresh);
    };
    list.replaceChildren();
    more();
    list.scrollTop = 0;
    list.onscroll = () => {
      const below = list.scrollHeight - list.scrollTop - list.clientHeight;
      if (drawn < makers.length && below < list.clientHeight) more();
    };
  };

  const step = (steps) => {
    const session = data.steps[steps.dataset.steps];
    const policy = session.policies[Number(steps.querySelector("select").value)];
    const request = Number(steps.querySelector("input").value);
    const series = policy.series.findLast((each) => each.first <= request);
    const length = series.lengths[request - series.first];
    const list = steps.querySelector("ol");
    const items = [];
    let note;
    let sent = 0;
    let next = 0;
    for (const part of series.items) {
      if (sent >= length) break;
      if (typeof part === "number") {
        const made = policy.made[part];
        items.push(() => says(made, "made"));
        if (made[0] === "summary") note = made;
        if (made[0] === "tool" || made[0] === "assistant") next += 1;
        sent += 1;
        continue;
      }
      const end = Math.min(part[1], part[0] + length - sent);
      const missing = part[0] - next;
      if (missing > 0) items.push(() => gap(missing));
      for (let at = part[0]; at < end; at += 1) items.push(() => says(session.messages[at], "sent"));
      sent += end - part[0];
      next = end;
    }
    draw(list, items);
    const beside = steps.querySelector(".note");
    beside.hidden = note === undefined;
    beside.querySelector("pre").textContent = note === undefined ? ""
      : note[1] + (note[2] ? `\n… ${number.format(note[2])} more characters` : "");
    const size = number.format(policy.sizes[request - 1]);
    const all = number.format(policy.sizes.length);
    const messages = `${number.format(sent)} ${sent === 1 ? "message" : "messages"}`;
    steps.querySelector(".told").textContent =
      `Request ${number.format(request)} of ${all}: ${messages}, ${size} tokens`;
  };
  for (const steps of document.querySelectorAll("[data-steps]")) {
    const slider = steps.querySelector("input");
    steps.addEventListener("toggle", () => { if (steps.open) step(steps); });
    steps.addEventListener("input", () => step(steps));
    for (const button of steps.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => {
        slider.value = Number(slider.value) + Number(button.dataset.step);
        step(steps);
      });
    }
  }

  for (const button of document.querySelectorAll("[data-toggle]")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (const part of document.querySelectorAll(`[data-policy="${button.dataset.toggle}"]`)) {
        if (on) part.removeAttribute("hidden");
        else part.setAttribute("hidden", "");
      }
      hide();
    });
  }

  const theme = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  const keep = (value) => { try { localStorage.setItem("agentic-theme", value); } catch { /* no store */ } };
  const kept = () => { try { return localStorage.getItem("agentic-theme"); } catch { return null; } };
  const wear = (name) => {
    if (name === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
  };
  let worn = themes.includes(kept()) ? kept() : "auto";
  wear(worn);
  theme.addEventListener("click", () => {
    worn = themes[(themes.indexOf(worn) + 1) % themes.length];
    keep(worn);
    wear(worn);
  });
})();
