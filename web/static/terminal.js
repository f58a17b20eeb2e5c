// Payments and refunds by hand, each with an id that is stored before it is sent; the slip of the last operation.

import { $, $$, askOrNull, data, make, once, words } from "./base.js";
import { explain, say } from "./outcome.js";
import { isUnsettled, perform } from "./tasks.js";

const plain = (text) => text.replace(/\s/g, "").replace(",", ".");

for (const form of $$("form[data-desk]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = $("button", form);
    once(button, async () => {
      if (isUnsettled()) {
        say(words.sell_first_settle, "open");
        ($("#pending button") ?? button).focus();
        return;
      }
      const [sum, rrn] = $$("input", form).map((input) => input.value.trim());
      const pay = { task: Number(form.dataset.desk), sum: plain(sum), ...(rrn ? { refundid: rrn } : {}) };
      say(words.sell_at_terminal, "open");
      await perform(button.textContent, "/dm/execute", { ver: 6, device: data.device, type: 3, pay }, "transaction_id");
      $("#outcome").focus();
    });
  });
}

function show(info) {
  const text = info?.sliptxt || info?.receipt;
  const rrn = info?.refundid;
  $("#slip").replaceChildren(
    rrn ? make("p", {}, "RRN ", make("code", {}, rrn)) : "",
    text ? make("pre", { class: "code", tabindex: "0" }, text) : make("p", {}, words.terminal_no_slip),
  );
}

document.addEventListener("answered", ({ detail: { action, answer } }) => {
  if (answer.res !== 0) return;
  show(answer.info);
  for (const form of $$("form[data-desk]")) if (Number(form.dataset.desk) === action.body.pay?.task) form.reset();
});

$("#slip-again").addEventListener("click", () => once($("#slip-again"), async () => {
  const { json } = await askOrNull("GET", `/dm/lasttransaction?dev_name=${encodeURIComponent(data.device)}`);
  if (json?.res === 0) show(json.info);
  else await explain(json, $("#slip-again").textContent);
}));
