// The last lines of the log, all of them or those with a text.

import { $, askOrNull, once, words } from "./base.js";

const place = $("#lines");
let lines = place.textContent.split("\n").filter((line) => line !== "" && line !== words.log_empty);

function show() {
  const wanted = $("#filter").value.trim().toLowerCase();
  const found = wanted ? lines.filter((line) => line.toLowerCase().includes(wanted)) : lines;
  place.textContent = found.length ? found.join("\n") : words.log_empty;
  place.scrollTop = place.scrollHeight;
}

$("#filter").addEventListener("input", show);

$("#log-form").addEventListener("submit", (event) => {
  event.preventDefault();
  once($("#log-form button"), async () => {
    const { status, json } = await askOrNull("GET", "/dm/api/v3/log");
    if (status === 200) lines = json.lines;
    show();
  });
});

show();
