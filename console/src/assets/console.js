// Keeps a page up to date, writes times in the zone of the reader, and opens nodes of a graph beside it.
// Pages are whole without it.
"use strict";

const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function local(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || time.title) continue;
    time.title = time.textContent;
    time.textContent = shown.format(at);
  }
}

const job = document.querySelector("#graph")?.dataset.job;
let chosen;

function nodes() {
  for (const node of document.querySelectorAll("#graph g[data-node]")) {
    node.classList.toggle("chosen", node.dataset.node === chosen);
  }
}

/** The part of another page that is shown beside the graph. */
async function fetched(address, selector) {
  const answer = await fetch(address, { credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector(selector) ?? page.querySelector(".fault");
}

async function open(address, name) {
  const panel = document.querySelector("#panel");
  if (!panel) return;
  chosen = name;
  panel.dataset.from = address;
  nodes();
  const part = await fetched(address, "article");
  if (part) put(panel, part);
}

/** Puts a part into its place, and leaves what the reader did there. */
function put(place, part) {
  local(part);
  if (place.firstElementChild?.isEqualNode(part) && place.childElementCount === 1) return;
  const unfolded = [...place.querySelectorAll("details")].map((details) => details.open);
  const scrolled = [...place.querySelectorAll("pre")].map(kept);
  place.replaceChildren(document.adoptNode(part));
  place.querySelectorAll("details").forEach((details, at) => (details.open = unfolded[at] ?? false));
  place.querySelectorAll("pre").forEach((pre, at) => scrolled[at]?.(pre));
}

/** Remembers where something is scrolled to: the end stays the end. */
function kept(box) {
  const atEnd = "end" in box.dataset && box.scrollHeight - box.scrollTop - box.clientHeight < 30;
  const follows = document.querySelector("[data-follow]")?.checked ?? true;
  const { scrollTop, scrollLeft } = box;
  return (next) => {
    next.scrollTop = atEnd && follows ? next.scrollHeight : scrollTop;
    next.scrollLeft = scrollLeft;
  };
}

let busy = false;
let again = false;
/** How many milliseconds it took to read the page. */
let cost = 0;

/** Reads the page again and takes over what has changed. */
async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  const began = performance.now();
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll("main [data-live][id]")) {
      const now = page.getElementById(old.id);
      if (!now || old.closest("#panel")) continue;
      local(now);
      const was = old.cloneNode(true);
      was.querySelectorAll(".chosen").forEach((node) => node.classList.remove("chosen"));
      if (was.innerHTML === now.innerHTML) continue;
      const checked = new Set([...old.querySelectorAll("input:checked")].map((input) => input.value));
      const focus = old.contains(document.activeElement) ? document.activeElement : undefined;
      const same = focus?.getAttribute("href") ?? focus?.value;
      const scroll = kept(old);
      old.replaceChildren(...now.childNodes);
      scroll(old);
      for (const input of old.querySelectorAll("input[type=checkbox]")) input.checked = checked.has(input.value);
      if (same) {
        const all = [...old.querySelectorAll("a, button, input")];
        all.find((one) => (one.getAttribute("href") ?? one.value) === same)?.focus();
      }
    }
    nodes();
    const panel = document.querySelector("#panel");
    if (panel?.dataset.from) await open(panel.dataset.from, chosen);
  } catch {
    // The server is away; the stream of events tells when it is back.
  } finally {
    busy = false;
    cost = performance.now() - began;
    if (again) {
      again = false;
      soon();
    }
  }
}

let timer;
/** Reads the page again in a moment, however much happens meanwhile: a large page is read no more than half of the time. */
function soon() {
  timer ??= setTimeout(() => {
    timer = undefined;
    refresh();
  }, Math.max(250, cost));
}

function follow() {
  const link = document.querySelector("#link");
  if (!("follows" in document.body.dataset)) {
    link?.remove();
    return;
  }
  const id = document.body.dataset.follows;
  const events = new EventSource(id ? `events?job=${encodeURIComponent(id)}` : "events");
  events.addEventListener("open", () => {
    link.textContent = "live";
    link.classList.add("live");
    soon();
  });
  events.addEventListener("error", () => {
    link.textContent = "not live";
    link.classList.remove("live");
  });
  for (const kind of ["job", "action"]) events.addEventListener(kind, soon);
  addEventListener("pagehide", () => events.close());
  // What a program writes is no event of its job, and time goes on without one.
  setInterval(() => {
    const runs = document.querySelector("main .status.busy");
    if (!document.hidden && runs && (document.querySelector("[data-follow]")?.checked ?? true)) soon();
  }, 3000);
}

document.addEventListener("click", (event) => {
  // A node is a link to its place in the definition, which the keyboard follows like a click.
  const around = event.target.closest("#graph a");
  const node = around?.querySelector("g[data-node]") ?? event.target.closest("#graph g[data-node]");
  const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
  if (node && job && !opensElsewhere) {
    event.preventDefault();
    open(`action?id=${encodeURIComponent(`${job}@${node.dataset.node}`)}`, node.dataset.node);
  }
  const link = event.target.closest("a[data-panel]");
  if (link && document.querySelector("#panel") && !opensElsewhere) {
    event.preventDefault();
    open(link.getAttribute("href"), link.textContent);
  }
});

document.addEventListener("change", (event) => {
  const all = event.target.dataset?.all;
  if (all) document.querySelectorAll(`[data-one="${CSS.escape(all)}"]`).forEach((one) => (one.checked = event.target.checked));
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.asks && !confirm(form.dataset.asks)) {
    event.preventDefault();
    return;
  }
  if (form.id !== "upload") return;
  event.preventDefault();
  const told = document.querySelector("#upload-fault");
  const [name, file] = [form.elements.name.value, form.elements.file.files[0]];
  const headers = { "Content-Type": "application/zip", "X-Ankus-Token": form.dataset.token };
  const answer = await fetch(`upload?name=${encodeURIComponent(name)}`, { method: "POST", headers, body: file });
  const text = await answer.text();
  if (answer.ok) {
    location.assign(`submit?path=${encodeURIComponent(text)}`);
  } else {
    told.hidden = false;
    told.textContent = text;
  }
});

local(document);
nodes();
document.querySelectorAll("[data-end]").forEach((box) => (box.scrollTop = box.scrollHeight));
follow();
