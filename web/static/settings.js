// The form of a device's settings: from fields to JSON and back to the field that was wrong.

import { $, $$, askOrNull, data, lookAgain, make, once, sure, words } from "./base.js";
import { explain, inWords, say } from "./outcome.js";

const form = $("#settings");
const isNew = !data.dev_id;
const MISSING = Symbol("missing");

const fieldsIn = (root) => $$("[data-field]", root).filter((field) => field.parentElement.closest("[data-field]") === (root === form ? null : root));

function own(field, selector) {
  return $$(selector, field).find((each) => each.closest("[data-field]") === field);
}

/** The value of a field; MISSING when it is empty. */
function valueOf(field) {
  const control = field.dataset.control;
  if (control === "group") {
    const use = own(field, "[data-use]");
    if (use && !use.checked) return null;
    return collect(field);
  }
  if (control === "switches") {
    const kept = JSON.parse(own(field, "script.kept").textContent);
    const on = new Map($$("[data-code]", field).map((box) => [box.dataset.code, box.checked]));
    return kept.map((each) => ({ ...each, enabled: on.get(String(each.code)) }));
  }
  const input = own(field, "input, select, textarea");
  const text = input.value.trim();
  switch (control) {
    case "flag":
      return input.checked;
    case "choice":
      return JSON.parse(input.value);
    case "number":
      // For a field without a number the browser returns nothing; the service then says what it expects.
      if (input.validity.badInput) return "?";
      if (text === "") return field.hasAttribute("data-nullable") ? null : MISSING;
      return Number(text);
    case "lines":
      return input.value.split("\n").map((line) => line.trimEnd()).filter((line, at, all) => line !== "" || at < all.length - 1);
    case "numbers":
      return text === "" ? [] : text.split(/[\s,;]+/).map((each) => (Number.isNaN(Number(each)) ? each : Number(each)));
    case "json":
      if (text === "") return field.hasAttribute("data-nullable") ? null : MISSING;
      return JSON.parse(text);
    case "password":
      return input.value === "" ? MISSING : input.value;
    default:
      return input.value;
  }
}

function collect(root) {
  const found = {};
  for (const field of fieldsIn(root)) {
    const value = valueOf(field);
    if (value !== MISSING) found[field.dataset.field] = value;
  }
  return found;
}

/** The changed fields; the others keep the driver's defaults. */
function changes() {
  const found = {};
  for (const field of fieldsIn(form)) {
    const name = field.dataset.field;
    const value = valueOf(field);
    if (value === MISSING) continue;
    const same = JSON.stringify(value) === JSON.stringify(before[name]);
    // What a link has filled in differs from the driver's default, though nobody has touched it.
    const given = isNew && data.given.includes(name);
    if (!same || given || (isNew && field.hasAttribute("data-required"))) found[name] = value;
  }
  return found;
}

// Mistakes

function clearMistakes() {
  for (const error of $$(".error", form)) error.textContent = "";
  for (const input of $$("[aria-invalid]", form)) input.removeAttribute("aria-invalid");
}

/** Show a mistake at its field, unfolded and focused; false without such a field. */
function showMistake(path, text) {
  const steps = path.split(".");
  let field = null;
  if (steps[0] === "settings" && steps.length > 1) {
    let root = form;
    for (const step of steps.slice(1)) {
      const name = step.replace(/\[.*$/, "");
      const next = fieldsIn(root).find((each) => each.dataset.field === name);
      if (!next) break;
      field = root = next;
    }
  } else if (steps[0] === "device") {
    field = $("[data-name]", form);
  }
  if (!field) return false;
  for (let details = field.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
  field.hidden = false;
  $(".error", field).textContent = text;
  const input = $("input, select, textarea", field);
  if (input) {
    input.setAttribute("aria-invalid", "true");
    input.focus();
  }
  return true;
}

/** Where a field is in the settings: `settings.batch.merchant`. */
function pathOf(field) {
  const outer = field.parentElement.closest("[data-field]");
  return `${outer ? pathOf(outer) : "settings"}.${field.dataset.field}`;
}

/** The mistake of a field that the page itself can see, in plain words; empty without one. */
function mistakeIn(field) {
  if (field.dataset.control === "json") {
    try {
      valueOf(field);
    } catch {
      return words.bad_json;
    }
    return "";
  }
  const input = own(field, "input:not([type=checkbox]), textarea");
  if (!input || field.closest("[hidden]")) return "";
  if (input.value.trim() === "" && !input.validity.badInput) return field.hasAttribute("data-required") ? words.needed : "";
  if (field.dataset.control === "number" && !input.validity.valid) {
    const limits = [input.min && `≥ ${input.min}`, input.max && `≤ ${input.max}`].filter(Boolean).join(", ");
    const kind = input.step === "1" ? words.whole_number : words.any_number;
    return limits ? `${kind}, ${limits}` : kind;
  }
  return input.validity.patternMismatch ? words.wrong_form : "";
}

/** Whether the form has no visible mistake; the first one is shown. */
function readable() {
  clearMistakes();
  if (!$("#device").value.trim()) return !showMistake("device", words.needed);
  for (const field of $$("[data-field]", form)) {
    const mistake = mistakeIn(field);
    if (mistake) return !showMistake(pathOf(field), mistake);
  }
  return true;
}

async function refused(answer, title) {
  const shown = (answer?.errors ?? []).map(({ path, text }) => showMistake(path, `${words.wrong_value}: ${text}`));
  if (!shown.length || shown.includes(false)) await explain(answer, title);
}

// Requests to the service

const named = () => ({ device: $("#device").value.trim(), settings: changes() });

/** Check the settings before anything is stored; true when the device answered. */
async function tried(title, saveAnyway) {
  say(words.working);
  const body = { ...named(), kind: data.kind, driver: data.driver };
  const { status, json } = await askOrNull("POST", "/dm/api/v3/check", body);
  if (status !== 200) {
    $("#outcome").hidden = true;
    await refused(json, title);
    return false;
  }
  if (json.res === 0) {
    say(words.check_good);
    return true;
  }
  await explain(json, words.check_bad);
  if (saveAnyway) {
    const button = make("button", { type: "button" }, words.save_anyway);
    button.addEventListener("click", () => once(button, () => create(title)));
    $("#outcome").append(make("p", { class: "row" }, button));
  }
  return false;
}

/** Send a body; a register that would send real documents in training mode is sent once more when a person agrees. */
async function send(method, path, body) {
  const answer = await askOrNull(method, path, body);
  const real = (answer.json?.errors ?? []).some((error) => error.path === "confirm_real");
  return real && (await sure("sure-real")) ? askOrNull(method, path, { ...body, confirm_real: true }) : answer;
}

async function create(title) {
  const { status, json } = await send("POST", "/dm/api/v3/devices", { ...named(), kind: data.kind, driver: data.driver });
  if (status === 201) location.assign(`/dm/devices/${json.dev_id}`);
  else await refused(json, title);
}

async function change(title) {
  const { status, json } = await send("PATCH", `/dm/api/v3/devices/${data.dev_id}`, named());
  if (status !== 200) {
    await refused(json, title);
    return;
  }
  before = collect(form);
  say(words.saved);
  const check = await askOrNull("POST", `/dm/api/v3/devices/${data.dev_id}/check`);
  const { parts } = await inWords(check.json, check.json?.res === 0 ? words.check_good : words.check_bad);
  $("#outcome").append(...parts);
  data.device = json.device;
  lookAgain();
}

// Fields that apply only with some interfaces

function adapt() {
  const way = $('[data-field="interface"] select', form);
  if (!way) return;
  const chosen = JSON.parse(way.value);
  for (const field of $$("[data-only-with]", form)) field.hidden = !field.dataset.onlyWith.split(" ").includes(chosen);
}

let before = collect(form);
adapt();
form.addEventListener("change", adapt);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = event.submitter ?? $("button.main", form);
  once(button, async () => {
    if (!readable()) return;
    if (!isNew) await change(button.textContent);
    // A register that signs itself has no key before it is stored, so there is nothing to try yet.
    else if (!data.tries || (await tried(button.textContent, true))) await create(button.textContent);
  });
});

$("#check")?.addEventListener("click", () => once($("#check"), async () => {
  if (readable()) await tried($("#check").textContent, false);
}));

// Which register is there

const SEARCH = "/dm/api/v3/search";
const EVERY_MS = 500;

const fieldOf = (name) => fieldsIn(form).find((field) => field.dataset.field === name);

/** Where the register is, as the form says. */
function place() {
  const settings = collect(form);
  return settings.interface === "serial"
    ? { serial_port: settings.serial_port.trim() }
    : { host: settings.host.trim(), port: settings.port };
}

function foundRegister([found], ended) {
  if (!found) {
    say(data.finds[ended === "whole" ? "nobody" : ended], "failed");
    return;
  }
  const { baudrate } = found.settings;
  const speed = baudrate ? `, ${data.finds.speed} ${baudrate}` : "";
  const mine = found.driver === data.driver;
  say(`${found.title}${speed}`, mine ? "done" : "failed");
  if (mine) {
    if (baudrate) $("input", fieldOf("baudrate")).value = baudrate;
    $("#outcome").append(make("p", {}, data.finds.save));
    return;
  }
  const asked = new URLSearchParams({ kind: "register", driver: found.driver });
  for (const [name, value] of Object.entries(found.settings)) asked.set(`s.${name}`, value);
  const link = make("a", { class: "button", href: `/dm/devices/new?${asked}` }, data.finds.add);
  $("#outcome").append(make("p", {}, data.finds.other), make("p", { class: "row" }, link));
}

async function findOut(title) {
  clearMistakes();
  const there = place();
  if (there.serial_port === "") {
    showMistake("settings.serial_port", words.needed);
    return;
  }
  let { status, json } = await askOrNull("POST", SEARCH, { what: "register", dev_id: data.dev_id, ...there });
  if (status === 422) {
    for (const { path, text } of json.errors) showMistake(`settings.${path}`, text);
    return;
  }
  if (status !== 202) {
    await explain(json, title);
    return;
  }
  say(words.working);
  const bar = make("progress", { max: json.total, "aria-label": title });
  $("#outcome").append(bar);
  while (json?.running) {
    bar.value = json.done;
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    ({ json } = await askOrNull("GET", SEARCH));
  }
  if (json?.found) foundRegister(json.found, json.ended);
  else await explain(json, title);
}

$("#find-out")?.addEventListener("click", () => once($("#find-out"), () => findOut($("#find-out").textContent)));
