// The signing key of a register: chosen or dropped, and sent with its password.

import { $, askOrNull, data, lookAgain, once, words } from "./base.js";
import { explain, say } from "./outcome.js";
import { collected } from "./upload.js";

const form = $("#key-form");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button", form);
  once(button, async () => {
    const parts = collected(form);
    if (!parts) return;
    say(words.working);
    const path = `/dm/main/api/v1/prro/sign?dev_id=${encodeURIComponent(data.dev_id)}`;
    const { json } = await askOrNull("POST", path, parts);
    if (json?.res !== 0) {
      await explain(json, button.textContent);
      return;
    }
    form.reset();
    // A folded element cannot keep the focus.
    $("summary", form.closest("details")).focus();
    form.closest("details").open = false;
    say(`${words.key_loaded}: ${json.signinfo}`);
    $("#outcome").scrollIntoView({ block: "nearest" });
    lookAgain();
  });
});
