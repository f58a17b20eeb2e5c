// Exercises with failures of training devices: let it fail, sell, put it right, and compare the books.

import { $, $$, ask, askOrNull, data, make, once, words } from "./base.js";
import { explain, say } from "./outcome.js";
import { perform, read } from "./tasks.js";

const STORE = "dm.practise";
const DEVICES = "/dm/api/v3/devices";
const { devices, exercises } = data;

// What was done, and how far the exercise has come; another register begins from nothing.
const FRESH = { base: null, sold: false, repaired: false, answer: null, title: "" };
let progress = { register: devices.register?.dev_id, done: [], at: "", ...FRESH };
try {
  const kept = JSON.parse(localStorage.getItem(STORE));
  if (kept?.register === progress.register) progress = kept;
} catch {
  // A browser without storage begins anew with each page.
}

function keep(changes) {
  Object.assign(progress, changes);
  try {
    localStorage.setItem(STORE, JSON.stringify(progress));
  } catch {
    // The page has it.
  }
  show();
}

const now = () => exercises.find((one) => one.name === progress.at);
const isDone = (name) => progress.done.includes(name);

function stage(name) {
  if (name !== progress.at) return isDone(name) ? "past" : "other";
  if (!progress.base) return "ready";
  if (!progress.sold) return "broken";
  if (!progress.repaired) return "sold";
  return isDone(name) ? "done" : "repaired";
}

function show() {
  for (const item of $$("[data-exercise]")) {
    const { exercise } = item.dataset;
    const at = stage(exercise);
    item.classList.toggle("done", isDone(exercise));
    if (at === "ready" || at === "other" || at === "past") $(".books", item).replaceChildren();
    for (const part of $$("[data-when]", item)) {
      part.hidden = !part.dataset.when.split(" ").includes(at);
    }
    if (exercise === progress.at) $(".answer", item).append($("#outcome"), $("#pending"));
  }
  $("#all").hidden = !exercises.every((one) => isDone(one.name));
}

/** Move the focus to the next thing to press, unless something else was chosen. */
function lead() {
  const item = $(`[data-exercise="${progress.at}"]`);
  if (!item || (document.activeElement !== document.body && document.activeElement.offsetParent)) return;
  ($$("button.main", item).find((each) => each.offsetParent) ?? $("h2", item)).focus();
}

// The devices

const at = (kind, path) => `${DEVICES}/${devices[kind].dev_id}/${path}`;

/** The register, when all devices are the training devices of this page still; else it is said, and there is none. */
async function register() {
  const { json } = await askOrNull("GET", DEVICES);
  const found = Object.entries(devices).map(([kind, known]) =>
    json?.devices?.find((each) => each.dev_id === known.dev_id && each.kind === kind
      && each.device === known.device && each.driver === "training"));
  const batch = found[0]?.settings.batch;
  const same = found.every(Boolean) && batch.terminal === devices.terminal.device
    && (batch.printer || "prn") === devices.printer.device;
  if (!same) say(json ? words.practise_not_ready : words.no_answer, "failed");
  return same ? found[0] : null;
}

/** Set what goes wrong with a device; whether that was done. */
async function set(kind, rules, title) {
  const { status, json } = await askOrNull("PUT", at(kind, "scenario"), { rules });
  if (status !== 200) await explain(json, title);
  return status === 200;
}

async function repairAll() {
  for (const kind of Object.keys(devices)) await askOrNull("PUT", at(kind, "scenario"), { rules: [] });
}

const goOnline = () => askOrNull("POST", at("register", "go-online"));

/** How many of each the simulated devices and the service have, from their own books; null while one is silent. */
async function books() {
  const answers = await Promise.all([
    ...Object.keys(devices).map((kind) => askOrNull("GET", at(kind, "ledger"))),
    askOrNull("GET", `/dm/api/v3/receipts?device=${encodeURIComponent(devices.register.device)}&kind=sale&page_size=1`),
  ]);
  if (answers.some(({ status }) => status !== 200)) return null;
  const [tax, bank, strip, till] = answers.map(({ json }) => json);
  const taken = (book, kind) => book.entries.filter((each) => each.kind === kind && each.status === "accepted").length;
  return { tax: taken(tax, "sale"), till: till.paging.total, bank: taken(bank, "payment"), strip: taken(strip, "print") };
}

const titles = {
  tax: words.practise_tax, till: words.practise_till, bank: words.practise_bank, strip: words.practise_strip,
};
let comparing = false;

/** Compare the books since the exercise began. It is over when each has exactly one, and nothing is broken. */
async function compare() {
  const one = now();
  if (!one || !progress.base || !progress.sold || comparing) return;
  comparing = true;
  try {
    const all = await books();
    if (!all || one !== now() || !progress.base) return;
    const counted = ["tax", "till", ...(one.card ? ["bank"] : []), "strip"];
    const found = counted.map((name) => [name, all[name] - progress.base[name]]);
    const same = found.every(([, count]) => count === 1);
    const place = $(`[data-exercise="${one.name}"] .books`);
    const rows = found.map(([name, count]) =>
      make("div", {}, make("dt", {}, titles[name]), make("dd", { class: "number" }, String(count))));
    place.replaceChildren(make("h3", {}, words.practise_books), make("dl", { class: "facts" }, ...rows),
      make("p", { class: same ? "good" : "" }, same ? words.practise_same : words.practise_differ));
    if (same && progress.repaired && !isDone(one.name)) {
      keep({ done: [...progress.done, one.name] });
      lead();
    }
  } finally {
    comparing = false;
  }
}

// The steps

async function begin(name) {
  await repairAll();
  $("#outcome").hidden = true;
  keep({ at: name, done: progress.done.filter((each) => each !== name), ...FRESH });
  $(`[data-exercise="${name}"]`).scrollIntoView({ block: "nearest" });
  lead();
}

async function fault(button) {
  const till = await register();
  if (!till) return;
  if (till.state.online_status) await goOnline();
  if (!till.state.shift_status) {
    const opened = await perform(words.open_shift, "/dm/execute", {
      ver: 6, device: till.device, type: 1, fiscal: { task: 0 },
    });
    if (opened?.res !== 0 && opened?.res !== 1096) return;
  }
  if ((await register())?.state.online_status) return void say(words.practise_offline, "open");
  const base = await books();
  if (!base) return void (await explain(null, button.textContent));
  if (!(await set(now().kind, now().rules, button.textContent))) return;
  $("#outcome").hidden = true;
  keep({ base });
}

async function sell(button) {
  const one = now();
  const till = await register();
  if (!till) return;
  const receipt = {
    sum: one.price,
    rows: [{ code: "1", name: data.coffee, cnt: 1, price: one.price, taxgrp: 1 }],
    pays: [{ type: one.card ? till.settings.batch.pay_types[0] : 0, sum: one.price }],
  };
  const title = words.practise_sell;
  keep({ sold: true, title });
  button.disabled = true;
  $("#wait").hidden = false;
  $(`[data-exercise="${one.name}"] .answer`).before($("#wait"));
  const answer = await perform(title, "/dm/execute-pkg", {
    ver: 6, device: till.device, type: 1, fiscal: { task: 1, receipt },
  });
  $("#wait").hidden = true;
  button.disabled = false;
  keep({ answer: answer && { ...answer, pf_text: undefined, pf_image: undefined } });
}

const steps = {
  begin: (button) => begin(button.closest("[data-exercise]").dataset.exercise),
  fault,
  sell,
  async repair(button) {
    if (await set(now().kind, [], button.textContent)) keep({ repaired: true });
  },
  async online(button) {
    const { status, json } = await goOnline();
    // 1054: it came back meanwhile.
    if (status !== 200 && json?.res !== 1054) await explain(json, button.textContent);
  },
  ask: (button) => read(button.textContent, "/dm/execute", {
    ver: 6, device: devices.register.device, type: 1, fiscal: { task: 18 },
  }),
  async reprint(button) {
    const { json } = await askOrNull("GET", `/dm/api/v3/jobs?device=${encodeURIComponent(devices.printer.device)}&page_size=1`);
    const job = json?.jobs?.[0];
    const done = job ? (await askOrNull("POST", `/dm/api/v3/jobs/${job.id}/reprint`)).json : null;
    await explain(done, button.textContent);
  },
  next() {
    const left = exercises.find((one) => !isDone(one.name));
    return left ? begin(left.name) : leave();
  },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) once(button, async () => {
    await steps[button.dataset.do](button);
    await compare();
    lead();
  });
});

async function leave() {
  await repairAll();
  await goOnline();
  keep({ at: "", ...FRESH });
  location.assign("/dm/main/");
}

// Devices that are missing

async function add() {
  const { json } = await ask("GET", DEVICES);
  const taken = new Set(json.devices.map((each) => each.device));
  const names = {};
  for (const [kind, wanted] of [["terminal", "pos"], ["printer", "prn"], ["register", "test"]]) {
    let device = devices[kind]?.device ?? wanted;
    for (let n = 2; !devices[kind] && taken.has(device); n += 1) device = `${wanted}${n}`;
    names[kind] = device;
    if (devices[kind]) continue;
    const made = await askOrNull("POST", DEVICES, { device, kind, driver: "training", settings: {} });
    if (made.status !== 201) return void (await explain(made.json, $("#add").textContent));
    devices[kind] = made.json;
  }
  const known = (await ask("GET", `${DEVICES}/${devices.register.dev_id}`)).json.settings.batch;
  const batch = { ...known, terminal: names.terminal, printer: names.printer };
  const changed = await askOrNull("PATCH", `${DEVICES}/${devices.register.dev_id}`, { settings: { batch } });
  if (changed.status === 200) location.reload();
  else await explain(changed.json, $("#add").textContent);
}

$("#add")?.addEventListener("click", (event) => once(event.target, add));
$("#leave")?.addEventListener("click", (event) => once(event.target, leave));

if ($("#leave")) {
  if (!now()) progress.at = exercises.find((one) => !isDone(one.name))?.name ?? exercises[0].name;
  show();
  if (progress.answer && !isDone(progress.at)) explain(progress.answer, progress.title);
  compare();
  // A repeat from the list of missing answers, and what the register does by itself.
  for (const kind of ["look-again", "looked"]) document.addEventListener(kind, compare);
}
