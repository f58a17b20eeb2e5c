// What is connected to this computer, and the searches that a person starts. Each found thing leads to its filled form.

import { $, askOrNull, data, make, once } from "./base.js";

const told = data.words;
const SEARCH = "/dm/api/v3/search";
const EVERY_MS = 500;

function linkTo(one, kind, driver, text, main) {
  const asked = new URLSearchParams({ kind });
  if (driver) asked.set("driver", driver);
  for (const [name, value] of Object.entries(one.settings)) asked.set(`s.${name}`, value);
  return make("a", { class: main ? "button main" : "button", href: `/dm/devices/new?${asked}` }, text);
}

/** How it is called: by its own words, else by what it is. */
const titleOf = (one) => one.title || told[one.kind || "serial"];

function standing(one) {
  if (one.device) return `${told.here_already}: ${one.device}`;
  if (one.answers) return told.answers;
  if (one.settings.interface !== "tcp") return "";
  return one.kind === "printer" ? told.silent_printer : told.silent_terminal;
}

function card(one) {
  const links = one.kind
    ? [linkTo(one, one.kind, one.driver, told.add, true)]
    : [linkTo(one, "printer", "", told.add_printer), linkTo(one, "terminal", "", told.add_terminal)];
  const says = standing(one);
  return make(
    "li", { class: "card" }, make("strong", {}, titleOf(one)), make("p", { class: "code" }, one.place),
    says ? make("p", { class: "help" }, says) : null,
    one.device ? null : make("p", { class: "row" }, ...links),
  );
}

async function here() {
  const { status, json } = await askOrNull("GET", "/dm/api/v3/found");
  const found = status === 200 ? json.found.map(card) : [];
  $("#found-here").replaceChildren(...(found.length ? found : [make("li", {}, told.nothing)]));
}

// Searches

let shown = 0;

function show(record) {
  $("#search").hidden = false;
  const there = $("#found-there");
  // What is shown already stays, so that a link keeps the focus.
  if (record.found.length < shown) {
    there.replaceChildren();
    shown = 0;
  }
  there.append(...record.found.slice(shown).map(card));
  shown = record.found.length;
  const bar = $("#search-progress");
  bar.max = record.total || 1;
  bar.value = record.running ? record.done : bar.max;
  bar.hidden = $("#search-stop").hidden = !record.running;
  $("#search-said").textContent = summary(record);
}

function summary(record) {
  if (record.running) return `${told.progress}: ${record.places.join(", ")}`;
  if (record.what === "printers" && !record.places.length) return told.no_network;
  if (record.ended === "cancelled" || record.ended === "late") return told[record.ended];
  return record.found.length ? record.places.join(", ") : told[`none_${record.what}`];
}

async function follow(record) {
  show(record);
  if (!record.running) return;
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  const { status, json } = await askOrNull("GET", SEARCH);
  if (status === 200) await follow(json);
}

async function begin(form, body) {
  await once($("button", form), async () => {
    $("#host-why .error").textContent = "";
    $("#host").removeAttribute("aria-invalid");
    const { status, json } = await askOrNull("POST", SEARCH, body);
    // 409: somebody's search runs; this page follows it.
    const record = status === 409 ? (await askOrNull("GET", SEARCH)).json : json;
    if (status === 422) {
      $("#host-why .error").textContent = json.errors[0].text;
      $("#host").setAttribute("aria-invalid", "true");
      $("#host").focus();
    } else if (record?.places) {
      $("#found-there").replaceChildren();
      shown = 0;
      await follow(record);
    }
  });
}

for (const [id, body] of [
  ["#search-printers", () => ({ what: "printers" })],
  ["#search-terminals", () => ({ what: "terminals", host: $("#host").value.trim() })],
]) {
  $(id).addEventListener("submit", (event) => {
    event.preventDefault();
    begin(event.target, body());
  });
}

$("#search-stop").addEventListener("click", () => askOrNull("DELETE", SEARCH));

here();
