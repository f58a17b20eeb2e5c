// Settings of the service: how long things are kept, the login, keys for programs.

import { $, $$, ask, lookAgain, make, NoAnswer, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";

async function asked(method, path, body) {
  try {
    return await ask(method, path, body);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { status: 0, json: null };
  }
}

for (const form of $$("form[data-settings]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = $("button", form);
    once(button, async () => {
      const members = {};
      for (const input of $$("input", form)) {
        members[input.name] = input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value;
      }
      const { json } = await asked("POST", "/dm/main/api/v1/settings", members);
      if (json?.res !== 0) {
        await explain(json, button.textContent);
        return;
      }
      say(words.saved);
      // The login may be asked for from now on, or no more.
      if ("usr_uiauth" in members) location.reload();
    });
  });
}

$("#new-key").addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("#new-key button");
  once(button, async () => {
    const { status, json } = await asked("POST", "/dm/api/v3/api-keys", { name: $("#key-name").value });
    if (status !== 201) {
      await explain(json, button.textContent);
      return;
    }
    say(words.new_key);
    $("#outcome").append(make("p", { class: "code" }, json.key));
    $("#new-key").reset();
    lookAgain();
  });
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-key]");
  if (!button || !(await sure("sure-key"))) return;
  const { status, json } = await asked("DELETE", `/dm/api/v3/api-keys/${encodeURIComponent(button.dataset.key)}`);
  if (status === 204) lookAgain();
  else await explain(json, button.textContent);
});
