// The feed: events become lines, newest first. New lines come together, a few times a second; while the reader scrolls or
// has paused, they wait.

import { $, $$, data, make, moment, money, words } from "./base.js";

const BEAT = 400; // Milliseconds between two changes of the list: many events cause one.
const SHOWN = 150; // Lines in the list.
const KEPT = 150; // Lines that wait; of more the oldest are given up, they would be pushed out of the list anyway.
const QUIET = 600_000; // Milliseconds for which the same warning of the same device is not repeated.

const list = $("#feed");
const ahead = data.now - Date.now();
let waiting = [];
let count = 0;
let timer = 0;
let paused = false;
let missed = false;
const warned = new Map();
const broken = new Map();

const say = (key, values) => data.words[`feed_${key}`].replace(/\{(\w+)\}/g, (_, name) => values?.[name] ?? "");
const byName = (name) => Object.keys(data.devices).find((id) => data.devices[id] === name);

const MAKERS = {
  document({ device, task, number, sum }) {
    const kind = data.kinds[task] ?? "";
    const text = sum ? say("document", { kind, number, sum: money(sum) }) : say("plain_document", { kind, number });
    const id = byName(device);
    return { group: "receipts", mood: "good", device, text, link: id && data.receipts && number ? `/dm/main/receipts/${id}/${number}` : "", key: `${device} ${number}` };
  },
  payment({ device, task, sum }) {
    const kind = data.pays[task] ?? "";
    const text = sum ? say("payment", { kind, sum: money(sum) }) : say("plain_payment", { kind, state: data.done });
    return { group: "cards", mood: "good", device, text };
  },
  task_ended({ device, type, res, errortxt }) {
    if (!res || !device) return null;
    const group = { 2: "printing", 3: "cards" }[type] ?? "receipts";
    return { group, mood: "bad", device, text: say("refused", { code: res, text: errortxt }) };
  },
  shift: ({ device, open }) => ({ group: "receipts", mood: "good", device, text: say(open ? "shift_open" : "shift_closed") }),
  offline({ device, offline, by_itself }) {
    const text = say(offline ? (by_itself ? "offline" : "offline_asked") : "online");
    return { group: "devices", mood: offline ? "warn" : "good", device, text };
  },
  device({ device, dev_id, state, gone }) {
    const name = device ?? data.devices[dev_id] ?? "";
    if (gone) return { group: "devices", mood: "warn", device: name, text: say("gone") };
    data.devices[dev_id] = name;
    const before = broken.get(dev_id) ?? "";
    const now = state.error ?? "";
    broken.set(dev_id, now);
    if (now === before) return null;
    return { group: "devices", mood: now ? "bad" : "good", device: name, text: now ? say("broken", { text: now }) : say("works") };
  },
  progress({ device, state, text }) {
    if (state === "idle" || state === "connecting") return null;
    const word = words[`progress_${state}`] ?? state;
    return { group: "cards", mood: "", device, text: say("progress", { text: text ? `${word}: ${text}` : word }) };
  },
  job({ device, job }) {
    const fate = data.fates[job.fate] ?? job.fate;
    const why = job.reason && (data.reasons[job.reason] ?? job.reason);
    const mood = { not_printed: "bad", unknown: "warn" }[job.fate] ?? "good";
    return { group: "printing", mood, device, text: say(why ? "job_why" : "job", { fate, why }), key: `job ${job.id} ${job.fate}` };
  },
  warning({ device, code, text }) {
    const same = `${device} ${code}`;
    if (Date.now() - (warned.get(same) ?? 0) < QUIET) return null;
    warned.set(same, Date.now());
    return { group: "devices", mood: "warn", device, text: say("warning", { code, text }) };
  },
  unfinished: ({ why }) => ({ group: "receipts", mood: "warn", device: "", text: say("unfinished", { text: why }) }),
  backup({ ended, error }) {
    if (!ended) return null;
    return { group: "service", mood: error ? "bad" : "good", device: "", text: error ? say("no_backup", { text: error }) : say("backup") };
  },
  changed({ path }) {
    const [, what] = data.areas.find(([prefix]) => path.startsWith(prefix)) ?? [];
    if (!what || /\/(check|interrupt|scenario|strip|go-offline|go-online)$/.test(path)) return null;
    const device = data.devices[path.split("/")[5]] ?? "";
    return { group: "service", mood: "", device, text: `${what}: ${data.changed}`, link: data.changes ? "/dm/main/settings/changes" : "" };
  },
  needs({ device, level, needs }) {
    const text = needs.length ? needs.map((code) => data.needs[code] ?? code).join(", ") : data.nothing;
    return { group: device ? "devices" : "service", mood: level, device, text };
  },
  login: ({ name, address }) => ({ group: "service", mood: "", device: "", text: say("login", { name, address }) }),
};

function made({ at, mood, device, text, link, key }) {
  const line = $("#feed-line").content.firstElementChild.cloneNode(true);
  if (mood) line.className = mood;
  if (key) line.dataset.key = key;
  $("use", line).setAttribute("href", `/dm/static/icons.svg#${{ good: "check", bad: "bad", warn: "warn" }[mood] ?? "info"}`);
  $("time", line).textContent = moment(at);
  $("time", line).setAttribute("datetime", new Date(at).toISOString());
  $("strong", line).textContent = device;
  $("span", line).replaceChildren(link ? make("a", { href: link }, text) : text);
  return line;
}

const held = () => paused || list.scrollTop > 8 || list.contains(document.activeElement?.closest("li"));

function show() {
  timer = 0;
  const holds = held();
  $("#waiting").hidden = !holds || !count;
  $("#waiting").textContent = say("waiting", { count });
  $("#feed-told").textContent = missed ? say("missed") : paused ? say("paused") : "";
  if (holds || !waiting.length) return;
  const keys = new Set($$("[data-key]", list).map((line) => line.dataset.key));
  const fresh = waiting.filter(({ key }) => !key || !keys.has(key));
  [waiting, count] = [[], 0];
  list.prepend(...fresh.reverse().map(made));
  while (list.children.length > SHOWN) list.lastElementChild.remove();
  $("#feed-empty").hidden = list.children.length > 0;
}

const soon = () => {
  timer ||= setTimeout(show, BEAT);
};

/** Take the lines from the journal, as the address says. */
async function fill() {
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    list.replaceChildren(...$$("#feed > li", fresh).map((line) => document.importNode(line, true)));
    $("#feed-empty").hidden = list.children.length > 0;
    list.scrollTop = 0;
  } catch {
    // No connection: when it is back, the next hello comes.
  }
}

document.addEventListener("told", ({ detail: { kind, data: given } }) => {
  if (kind === "hello") {
    missed ||= given.missed && !given.first;
    // What came between the page and its first event is in the journal by now.
    if ((given.first || given.missed) && !held()) fill();
    soon();
    return;
  }
  const line = MAKERS[kind]?.(given);
  if (!line || ($("#f-kind").value || line.group) !== line.group || ($("#f-device").value || line.device) !== line.device) return;
  waiting.push({ at: Date.now() + ahead, ...line });
  count += 1;
  if (waiting.length > KEPT) waiting.shift();
  soon();
});

list.addEventListener("scroll", soon, { passive: true });

$("#pause").addEventListener("click", () => {
  paused = !paused;
  $("#pause").setAttribute("aria-pressed", String(paused));
  $("#pause").textContent = say(paused ? "go_on" : "pause");
  show();
});

$("#waiting").addEventListener("click", () => {
  if (paused) $("#pause").click();
  list.scrollTop = 0;
  list.focus();
  show();
});

function filter(event) {
  event.preventDefault();
  const chosen = new URLSearchParams(new FormData($("#feed-form")));
  history.replaceState(null, "", `?${chosen}`);
  [waiting, count, missed] = [[], 0, false];
  fill();
  show();
}

$("#feed-form").addEventListener("submit", filter);
$("#feed-form").addEventListener("change", filter);
