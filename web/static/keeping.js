// Forms of the service's settings: each field is sent by its name.

import { $, $$, askOrNull, once, words } from "./base.js";
import { explain, say } from "./outcome.js";

const valueOf = (input) => {
  if (input.type === "checkbox") return input.checked;
  return input.type === "number" ? Number(input.value) : input.value;
};

for (const form of $$("form[data-settings]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = $("button", form);
    once(button, async () => {
      const members = Object.fromEntries($$("input, select, textarea", form).map((input) => [input.name, valueOf(input)]));
      // An empty template removes the shop's own; old clients send it empty with every change.
      if (members.pf_custom === "") members.pf_del_custom = true;
      const { json } = await askOrNull("POST", "/dm/main/api/v1/settings", members);
      if (json?.res !== 0) {
        await explain(json, button.textContent);
        return;
      }
      say(words.saved);
      // The login may have been switched on or off.
      if ("usr_uiauth" in members) location.reload();
    });
  });
}
