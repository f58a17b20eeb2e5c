// Settings that change on a day: the list of changes, one more, or one less.

import { $, $$, askOrNull, data, once } from "./base.js";
import { explain } from "./outcome.js";

const section = $("#dated");
const rows = JSON.parse($("script.kept", section).textContent);

async function store(dated, title) {
  const { status, json } = await askOrNull("PATCH", `/dm/api/v3/devices/${data.dev_id}`, { settings: { dated } });
  if (status === 200) location.reload();
  else await explain(json, title);
}

/** The text of the field as a value of the kind that the setting has now. */
function valueOf(text, kind) {
  if (kind === "boolean") return text === "true";
  return kind === "number" && /^\d+$/.test(text) ? Number(text) : text;
}

$("form", section).addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button", event.target);
  const setting = $("#dated-setting").selectedOptions[0];
  const value = valueOf($("#dated-value").value.trim(), setting.dataset.kind);
  const row = { valid_from: $("#dated-from").value, setting: setting.value, value };
  once(button, () => store([...rows, row], button.textContent));
});

for (const button of $$("[data-row]", section)) {
  const left = rows.filter((row, at) => at !== Number(button.dataset.row));
  button.addEventListener("click", () => once(button, () => store(left, button.textContent)));
}
