// One receipt: a copy of it on paper, an e-mail with it.

import { $, askOrNull, data, lookAgain, once, words } from "./base.js";
import { explain, say } from "./outcome.js";
import { read } from "./tasks.js";

const button = $("#print");
button?.addEventListener("click", () => once(button, async () => {
  const path = `/dm/execute-prn?dev_id=${encodeURIComponent($("#printer").value)}`;
  const fiscal = { task: 23, fiscal_number: data.fiscal_number };
  await read(button.textContent, path, { ver: 6, device: data.device, type: 1, fiscal });
  lookAgain();
}));

const form = $("#mail-form");
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  return once($("button", form), async () => {
    const path = `/dm/api/v3/receipts/${data.dev_id}/${data.number}/mail`;
    const { status, json } = await askOrNull("POST", path, { to: $("#to").value });
    if (status !== 200) return explain(json, $("button", form).textContent);
    form.reset();
    return say(`${words.mail_waits}: ${json.to}`);
  });
});
