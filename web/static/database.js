// The database: its check, and how long things are kept.

import { $, askOrNull, lookAgain, once, words } from "./base.js";
import { explain, say } from "./outcome.js";
import "./keeping.js";

const backUp = $("#back-up");
backUp.addEventListener("click", () => once(backUp, async () => {
  const { status, json } = await askOrNull("POST", "/dm/api/v3/backups", {});
  // The list shows the progress and the result.
  if (status === 202) $("#outcome").hidden = true;
  else await explain(json, backUp.textContent);
  lookAgain();
}));

const button = $("#check");
button.addEventListener("click", () => once(button, async () => {
  say(words.working);
  const { status, json } = await askOrNull("POST", "/dm/api/v3/database/check", {});
  if (status !== 200) {
    await explain(json, button.textContent);
    return;
  }
  if (json.check === null) say(words.database_no_check);
  else say(json.check.ok ? words.database_whole : words.database_damaged, json.check.ok ? "done" : "failed");
  lookAgain();
}));
