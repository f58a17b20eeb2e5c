// The check-up: check everything, and fix findings by a button.

import { $, askOrNull, lookAgain, once, words } from "./base.js";
import { explain, say } from "./outcome.js";

async function tell(button, path, body, done) {
  say(words.working);
  const { status, json } = await askOrNull("POST", path, body);
  if (status !== 200) {
    await explain(json, button.textContent);
    return;
  }
  say(done, json.status === 2 ? "failed" : "done");
  lookAgain();
}

const examine = $("#examine");
examine.addEventListener("click", () =>
  once(examine, () => tell(examine, "/dm/api/v3/doctor", {}, words.doctor_done)));

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-fix]");
  if (button) once(button, () => tell(button, "/dm/api/v3/doctor/fix", { fix: button.dataset.fix }, words.doctor_mended));
});
