// On every page: switch the language, log out, and keep the page up to date.

import { $, $$, ask, askOrNull, make, words } from "./base.js";

const IDLE = 10 * 60_000; // The web interface asks for the login again after ten minutes (specification 5.4).
const CALM = 1500; // Milliseconds between two reloads: many events cause one reload.

const line = $("#line");

// On a phone the rows of a table are cards, and a cell stands beside its column's name.

function nameCells(root) {
  for (const table of $$(".scroll table", root)) {
    const names = $$("thead th", table).map((each) => each.textContent.trim());
    for (const cell of $$("tbody td", table)) cell.dataset.label ??= names[cell.cellIndex] ?? "";
  }
}

nameCells(document);

for (const link of $$("[data-language]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    document.cookie = `dm_lang=${link.dataset.language}; path=/; max-age=31536000; samesite=lax`;
    const address = new URL(location.href);
    address.searchParams.delete("lang");
    location.assign(address);
  });
}

for (const button of $$("[data-logout]")) {
  button.addEventListener("click", async () => {
    await ask("POST", "/logout", {});
    location.assign("/login");
  });
}

// Copying; without https or localhost a browser only offers the old way.

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = make("textarea", { class: "unseen" });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  // Without a text of its own, the button copies the element that it names.
  const text = button.dataset.copy || document.getElementById(button.dataset.from).textContent;
  const said = $("#said");
  said.textContent = await copy(text).then(() => words.copied, () => words.not_copied);
  button.focus();
  setTimeout(() => { said.textContent = ""; }, 2500);
});

// Without a login, the one-time code opens a session.

$("#presence")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { status, json } = await askOrNull("POST", "/login", { code: $("#presence-code").value });
  if (status === 200) location.reload();
  else $("#presence-trouble").textContent = json?.errortxt || words.no_answer;
});

// Reload: fetch the same page, and replace its live parts.

const focusable = "a[href], button, input, select, summary, [tabindex]";
let timer = 0;
let looked = 0;
let calm = CALM;
let looking = false;
let again = false;

function soon() {
  // A short wait gathers the events of one action; then at most one reload at a time.
  if (!timer) timer = setTimeout(look, Math.max(200, looked + calm - Date.now()));
}

async function look() {
  timer = 0;
  looked = Date.now();
  // A dialog returns the focus to its button, so the button must stay meanwhile; only what it shows itself is reloaded.
  if ($("dialog[open]") && !$("dialog[open] [data-live]")) {
    soon();
    return;
  }
  if (looking) {
    again = true;
    return;
  }
  looking = true;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (answer.redirected && new URL(answer.url).pathname === "/login") location.reload();
    else if (answer.ok) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // No connection; the event stream notices when it is back.
  } finally {
    looking = false;
    // A slow reload is repeated less often: tills come first.
    calm = Math.max(CALM, 10 * (Date.now() - looked));
  }
  if (again) {
    again = false;
    soon();
  }
}

/** What identifies a control, even when its text changes. */
const nameOf = (each) => [each.tagName, each.id, each.getAttribute("href"), JSON.stringify(each.dataset)].join(" ");

function takeOver(fresh) {
  nameCells(fresh);
  const asking = $("dialog[open]");
  if (asking) asking.addEventListener("close", soon, { once: true });
  for (const part of $$("[data-live]", asking ?? document)) {
    const other = fresh.getElementById(part.id);
    if (!other || other.innerHTML === part.innerHTML) continue;
    // With the keyboard, the focus stays on the control, or goes to its place.
    const held = document.activeElement;
    const place = part.contains(held) ? $$(focusable, part).indexOf(held) : -1;
    // What a person has opened stays open.
    const opened = new Set($$("details[open][data-keep]", part).map((each) => each.dataset.keep));
    part.replaceChildren(...[...other.childNodes].map((node) => document.importNode(node, true)));
    for (const each of $$("details[data-keep]", part)) each.open = opened.has(each.dataset.keep);
    if (place >= 0) {
      const found = $$(focusable, part);
      const same = found.find((each) => nameOf(each) === nameOf(held));
      (same ?? found[place] ?? found.at(-1) ?? $("#content")).focus();
    }
  }
  document.dispatchEvent(new Event("looked"));
}

// Events

// Every page has the list of what needs a person; few show devices and tasks too.
const follows = $$("[data-live]").some((part) => part.id !== "live-needs");
let source = null;
let service = "";
let greeted = false;

function connected(yes) {
  line.textContent = yes ? words.connected : words.reconnecting;
  line.classList.toggle("lost", !yes);
}

/** Pass an event on to the script of the page. */
const told = (kind, data) => document.dispatchEvent(new CustomEvent("told", { detail: { kind, data } }));

function listen(again = false) {
  source = new EventSource("/dm/api/v3/events?page=1");
  // A new connection, other than one that the browser has repeated, does not get what was missed.
  let missed = again;
  source.addEventListener("hello", (event) => {
    const hello = JSON.parse(event.data);
    connected(true);
    // After a restart of the service or missed events, everything may have changed.
    if (!greeted || hello.missed || hello.service !== service) soon();
    told("hello", { first: !greeted, missed: hello.missed || missed || (greeted && hello.service !== service) });
    missed = false;
    greeted = true;
    service = hello.service;
  });
  for (const kind of ["task_begun", "task_ended", "shift", "warning", "device", "job", "offline", "unfinished", "backup", "changed"]) {
    if (follows) source.addEventListener(kind, soon);
  }
  source.addEventListener("needs", soon);
  if ($("[data-feed]")) {
    for (const kind of $("[data-feed]").dataset.feed.split(" ")) {
      source.addEventListener(kind, (event) => told(kind, JSON.parse(event.data)));
    }
  }
  source.addEventListener("progress", (event) => {
    const told = JSON.parse(event.data);
    for (const place of $$(`[data-progress="${CSS.escape(told.dev_id)}"]`)) {
      const word = words[`progress_${told.state}`] ?? told.state;
      place.textContent = told.text ? `${word}: ${told.text}` : word;
    }
  });
  source.addEventListener("error", () => {
    connected(false);
    // A browser gives up when something other than events answers; the service may be starting.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000, true);
  });
}

document.addEventListener("look-again", () => soon());

// Figures that are still being read: a later look shows more.
const goOn = () => $("[data-reading]") && soon();
document.addEventListener("looked", goOn);
goOn();

if ($("[data-live]") || $("[data-progress]") || $("#outcome")) listen();

// A page that reloads by itself must not keep an unused session alive.
// Work in another tab counts: all tabs share the time of the last action.
if (document.body.dataset.login === "on") {
  const touched = () => localStorage.setItem("dm.touched", String(Date.now()));
  touched();
  for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, touched, { passive: true });
  const watch = setInterval(() => {
    if (Date.now() - Number(localStorage.getItem("dm.touched")) < IDLE) return;
    clearInterval(watch);
    source?.close();
    ask("POST", "/logout", {}).catch(() => {}).finally(() => location.reload());
  }, 5000);
}
