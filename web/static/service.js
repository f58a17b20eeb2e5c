// Settings of the service: how long things are kept, the login, keys for programs.

import { $, askOrNull, lookAgain, make, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";
import "./keeping.js";

/** Show a new key, for the only time. */
function showKey(json) {
  say(words.new_key);
  $("#outcome").append(make("p", { class: "code" }, json.key));
  $("#outcome").scrollIntoView({ block: "nearest" });
  lookAgain();
}

$("#new-key").addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("#new-key button");
  once(button, async () => {
    const { status, json } = await askOrNull("POST", "/dm/api/v3/api-keys", { name: $("#key-name").value });
    if (status !== 201) {
      await explain(json, button.textContent);
      return;
    }
    showKey(json);
    $("#new-key").reset();
  });
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-key], button[data-replace]");
  if (!button) return;
  const { key, replace } = button.dataset;
  if (!(await sure(key ? "sure-key" : "sure-replace"))) return;
  const path = `/dm/api/v3/api-keys/${encodeURIComponent(key ?? replace)}`;
  const { status, json } = await (key ? askOrNull("DELETE", path) : askOrNull("POST", `${path}/replace`, {}));
  if (status === 204) lookAgain();
  else if (status === 200) showKey(json);
  else await explain(json, button.textContent);
});
