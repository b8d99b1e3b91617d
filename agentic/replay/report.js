"use strict";
(() => {
  const told = JSON.parse(document.getElementById("data").textContent);
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
    const parts = [element("h4", `Turn ${number.format(cut.turn)}`)];
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
