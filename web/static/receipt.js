// One receipt: a copy of it on paper.

import { $, data, lookAgain, once } from "./base.js";
import { read } from "./tasks.js";

const button = $("#print");
button?.addEventListener("click", () => once(button, async () => {
  const path = `/dm/execute-prn?dev_id=${encodeURIComponent($("#printer").value)}`;
  const fiscal = { task: 23, fiscal_number: data.fiscal_number };
  await read(button.textContent, path, { ver: 6, device: data.device, type: 1, fiscal });
  lookAgain();
}));
