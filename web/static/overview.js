// Actions on operations with an unknown outcome.

import { ask, lookAgain, NoAnswer, once, sure } from "./base.js";
import { explain } from "./outcome.js";

async function tell(title, method, path, body) {
  let answer = null;
  try {
    ({ json: answer } = await ask(method, path, body));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  await explain(answer, title);
  lookAgain();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { ask: device, settle, outcome, reprint } = button.dataset;
  const title = button.textContent;
  if (device) {
    // Any task makes the service find out first; the status changes nothing itself.
    await once(button, () => tell(title, "POST", "/dm/execute", { ver: 6, device, type: 1, fiscal: { task: 18 } }));
  } else if (settle) {
    if (await sure(button.dataset.sure ?? "sure-settle")) {
      await once(button, () => tell(title, "POST", `/dm/api/v3/operations/${settle}/settle`, { outcome }));
    }
  } else if (reprint) {
    await once(button, () => tell(title, "POST", `/dm/api/v3/jobs/${reprint}/reprint`));
  }
});
