// The steps to the first receipt: a register, its shift, a coffee, and the picture of the receipt.

import { $, ask, data, NoAnswer, once } from "./base.js";
import { explain } from "./outcome.js";
import { perform } from "./tasks.js";

const on = (id, work) => {
  const button = $(id);
  button?.addEventListener("click", () => once(button, () => work(button)));
};

on("#make", async (button) => {
  const names = await ask("GET", "/dm/api/v3/devices");
  const taken = new Set(names.json.devices?.map((each) => each.device));
  let device = "test";
  for (let n = 2; taken.has(device); n += 1) device = `test${n}`;
  try {
    const { status, json } = await ask("POST", "/dm/api/v3/devices", {
      device, kind: "register", driver: "training", settings: {},
    });
    if (status === 201) location.reload();
    else await explain(json, button.textContent);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    await explain(null, button.textContent);
  }
});

on("#open", async (button) => {
  const answer = await perform(button.textContent, "/dm/execute", {
    ver: 6, device: data.device, type: 1, fiscal: { task: 0 },
  });
  // 1096: the shift was opened meanwhile, which is just as good.
  if (answer && (answer.res === 0 || answer.res === 1096)) {
    button.disabled = true;
    button.closest("li").classList.add("done");
    $("#sell").disabled = false;
    $("#sell").focus();
  }
});

on("#sell", async (button) => {
  const receipt = {
    sum: 125.5,
    rows: [{ code: "1", name: data.coffee, cnt: 1, price: 125.5, taxgrp: 1 }],
    pays: [{ type: 0, sum: 200 }],
  };
  const answer = await perform(button.textContent, "/dm/execute", {
    ver: 6, device: data.device, type: 1, need_pf_img: 2, fiscal: { task: 1, receipt },
  });
  if (answer?.res !== 0) return;
  button.disabled = true;
  button.closest("li").classList.add("done");
  $("#picture").src = answer.pf_image;
  $("#to-receipt").href = `/dm/main/receipts/${data.dev_id}/${answer.info.docno}`;
  $("#to-board").href = `/dm/main/registers/${data.dev_id}`;
  $("#outcome").hidden = true;
  $("#receipt").hidden = false;
  $("#receipt-title").focus();
});
