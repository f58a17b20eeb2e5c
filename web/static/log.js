// The log, live: every second the lines that came since. The part of the service and the level stand there in words; what
// is written is under the pointer. At its end the log follows; where the reader scrolls or pauses, it stands still.

import { $, askOrNull, data, make, words } from "./base.js";

const BEAT = 1000; // Milliseconds between two questions.
const KEPT = 2000; // Lines that are kept here.
const ORDER = ["debug", "info", "warn", "error", "critical"];

const place = $("#lines");
let kept = [];
let last = data.last;
let missed = 0;
let paused = false;
let drawn = null; // The newest line that is shown.

/** A line of the log, text or JSON, taken apart. */
function parsed(raw) {
  if (raw.startsWith("{")) {
    try {
      const { time, level, namespace, message, traceback } = JSON.parse(raw);
      return { raw, time, level, name: namespace, text: [message, traceback].filter(Boolean).join("\n") };
    } catch {
      // Cut off in the middle: shown as it is.
    }
  }
  const [, time, level, name, text] = /^(\d{4}-\d\d-\d\dT\S+) (\w+) (\S+) ([^]*)$/.exec(raw) ?? [];
  return time && ORDER.includes(level) ? { raw, time, level, name, text } : { raw, time: "", level: "info", name: "", text: raw };
}

const roomOf = (name) => data.rooms.find(([prefix]) => `${name}.`.startsWith(`${prefix}.`))?.[1] ?? data.service;

function drawnLine({ raw, time, level, name, text }) {
  if (!time) return make("span", { class: "line" }, text);
  return make(
    "span",
    { class: `line ${level}`, title: `${time} ${level} ${name}` },
    make("time", { datetime: time }, time.slice(11, 23)),
    " ",
    make("span", { class: "level" }, data.levels[level]),
    " ",
    make("span", { class: "room" }, roomOf(name)),
    ` ${text}`,
  );
}

function fits({ raw, level, name, time }) {
  const wanted = $("#filter").value.trim().toLowerCase();
  if (ORDER.indexOf(level) < ORDER.indexOf($("#level").value)) return false;
  return !wanted || raw.toLowerCase().includes(wanted) || (time && roomOf(name).includes(wanted));
}

const atEnd = () => place.scrollHeight - place.scrollTop - place.clientHeight < 24;

/** Show everything again, as the filters say. */
function show() {
  const found = kept.filter(fits);
  place.replaceChildren(...(found.length ? found.map(drawnLine) : [words.log_empty]));
  drawn = kept.at(-1);
  place.scrollTop = place.scrollHeight;
}

/** Add what came since. */
function add() {
  const told = missed ? data.missed.replace("{count}", missed) : "";
  const fresh = kept.slice(kept.indexOf(drawn) + 1).filter(fits);
  $("#log-told").textContent = paused && fresh.length ? data.waiting.replace("{count}", fresh.length) : told;
  if (paused) return;
  const follow = atEnd();
  drawn = kept.at(-1);
  if (!fresh.length) return;
  if (!place.firstElementChild) place.replaceChildren();
  place.append(...fresh.map(drawnLine));
  while (place.childElementCount > KEPT && follow) place.firstElementChild.remove();
  if (follow) place.scrollTop = place.scrollHeight;
}

async function look() {
  if (!document.hidden) {
    const { status, json } = await askOrNull("GET", `/dm/api/v3/log?after=${last}`);
    if (status === 200) {
      // A service that has begun again counts from the beginning.
      if (json.last < last) last = 0;
      missed += Math.max(json.last - last - json.lines.length, 0);
      last = json.last;
      kept.push(...json.lines.map(parsed));
      kept.splice(0, kept.length - KEPT);
      add();
    }
  }
  setTimeout(look, BEAT);
}

$("#filter").addEventListener("input", show);
$("#level").addEventListener("change", show);
$("#log-form").addEventListener("submit", (event) => event.preventDefault());
$("#pause").addEventListener("click", () => {
  paused = !paused;
  $("#pause").setAttribute("aria-pressed", String(paused));
  $("#pause").textContent = paused ? data.go_on : data.pause;
  add();
});

// A line of the log may have several lines of text, the others indented.
kept = place.textContent.split(/\n(?! {4})/).filter((line) => line.trim() !== "" && line !== words.log_empty).map(parsed);
show();
look();
