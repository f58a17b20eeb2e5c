// Receipts to customers: the mail server, a test, and what has not arrived.

import { $, askOrNull, lookAgain, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";
import "./keeping.js";

$("#test-mail").addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button", event.target);
  once(button, async () => {
    say(words.working);
    const { status, json } = await askOrNull("POST", "/dm/api/v3/mail/test", { to: $("#test-to").value });
    if (status !== 200) await explain(json, button.textContent);
    else if (json.sent) say(words.mail_sent);
    else say(json.why, "failed");
  });
});

$("#letters").parentElement.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-retry], button[data-drop]");
  if (!button) return;
  once(button, async () => {
    const { retry, drop } = button.dataset;
    if (drop && !(await sure("sure-mail"))) return;
    const { status, json } = retry
      ? await askOrNull("POST", `/dm/api/v3/mail/${retry}/retry`, {})
      : await askOrNull("DELETE", `/dm/api/v3/mail/${drop}`);
    // It may have gone out meanwhile.
    if (status >= 300 && status !== 404) await explain(json, button.textContent);
    else $("#outcome").hidden = true;
    lookAgain();
  });
});
