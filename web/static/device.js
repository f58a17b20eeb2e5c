// One device: check, actions, test prints, deletion.

import { $, $$, ask, data, lookAgain, NoAnswer, once, sure } from "./base.js";
import { explain } from "./outcome.js";
import { perform, read } from "./tasks.js";

async function tell(title, method, path, body) {
  let answer = null;
  let status = 0;
  try {
    ({ json: answer, status } = await ask(method, path, body));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  await explain(answer, title);
  lookAgain();
  return status;
}

const on = (selector, work) => {
  for (const button of $$(selector)) {
    button.addEventListener("click", async () => {
      if (button.dataset.sure && !(await sure(button.dataset.sure))) return;
      await once(button, () => work(button));
    });
  }
};

on("#try", (button) => tell(button.textContent, "POST", `/dm/api/v3/devices/${data.dev_id}/check`));

on("#interrupt", (button) => tell(button.textContent, "POST", `/dm/api/v3/devices/${data.dev_id}/interrupt`));

on("[data-doc]", async (button) => {
  const doc = JSON.parse(button.dataset.doc);
  await read(button.textContent, "/dm/execute", { ver: 6, device: data.device, type: 2, doc });
  lookAgain();
});

on("[data-service]", (button) => tell(
  button.textContent, "GET", `/dm/${button.dataset.service}?dev_name=${encodeURIComponent(data.device)}`,
));

on("[data-pay]", (button) => perform(
  button.textContent,
  "/dm/execute",
  { ver: 6, device: data.device, type: 3, pay: { task: Number(button.dataset.pay) } },
  "transaction_id",
));

// The form below still shows the earlier value, so the page is read anew.
on("[data-settings]", async (button) => {
  const settings = JSON.parse(button.dataset.settings);
  if ((await tell(button.textContent, "PATCH", `/dm/api/v3/devices/${data.dev_id}`, { settings })) === 200) location.reload();
});

$("#delete")?.addEventListener("click", async () => {
  if (!(await sure("sure-delete"))) return;
  const status = await tell($("#delete").textContent, "DELETE", `/dm/api/v3/devices/${data.dev_id}`);
  if (status === 204) location.assign("/dm/");
});

// The paper of a training printer grows with every job.
const paper = $("#paper");
if (paper) {
  const address = paper.getAttribute("src");
  const anew = () => { paper.src = `${address}&at=${Date.now()}`; };
  document.addEventListener("looked", anew);
}
