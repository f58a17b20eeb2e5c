// Actions of a cashier: every button is a task of the register, done once.

import { $, $$, ask, data, lookAgain, NoAnswer, once, sure } from "./base.js";
import { explain } from "./outcome.js";
import { perform, read } from "./tasks.js";

const READS = new Set([10, 21, 22]);
const CASH = new Set([3, 4]);

const cashier = $("#cashier");
cashier.value = localStorage.getItem("dm.cashier") ?? "";
cashier.addEventListener("change", () => localStorage.setItem("dm.cashier", cashier.value));

function where() {
  const printer = $("#printer").value;
  return printer ? `/dm/execute-prn?dev_id=${encodeURIComponent(printer)}` : "/dm/execute";
}

async function doTask(button, task) {
  const title = button.textContent;
  const fiscal = { task, cashier: cashier.value };
  if (CASH.has(task)) {
    const amount = $("#amount").value.replaceAll(" ", "").replace(",", ".");
    fiscal.cash = { type: 0, sum: amount };
  }
  const body = { ver: 6, device: data.device, type: 1, fiscal };
  if (task !== 21) body.need_pf_img = 2;
  if (READS.has(task)) {
    await read(title, task === 21 ? "/dm/execute" : where(), body);
  } else {
    const answer = await perform(title, where(), body);
    if (answer?.res === 0 && CASH.has(task)) $("#amount").value = "";
  }
}

for (const button of $$("button[data-task]")) {
  if (button.type === "submit") continue;
  button.addEventListener("click", async () => {
    if (button.dataset.sure && !(await sure(button.dataset.sure))) return;
    await once(button, () => doTask(button, Number(button.dataset.task)));
  });
}

$("#cash-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter ?? $("#cash-form button");
  await once(button, () => doTask(button, Number(button.dataset.task)));
});

for (const button of $$("button[data-mode]")) {
  button.addEventListener("click", async () => {
    if (button.dataset.sure && !(await sure(button.dataset.sure))) return;
    await once(button, async () => {
      let answer = null;
      try {
        ({ json: answer } = await ask("POST", `/dm/api/v3/devices/${data.dev_id}/${button.dataset.mode}`));
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
      }
      await explain(answer, button.textContent);
      lookAgain();
    });
  });
}
