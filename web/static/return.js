// A return: rows and quantities of one receipt, the sums from the service, the money in cash or to the card.

import { $, $$, askOrNull, data, make, money, once, words } from "./base.js";
import { say } from "./outcome.js";
import { isUnsettled, lookUp, perform } from "./tasks.js";

const form = $("#back");
const plain = (text) => String(text ?? "").replace(/\s/g, "").replace(",", ".");

let asked = 0;
let later = 0;

async function reckon() {
  const mine = (asked += 1);
  const rows = $$("[data-row]", form).map((line) => ({
    row: Number(line.dataset.row),
    cnt: plain($("input", line).value) || "0",
    marks: $$("input[type=checkbox]:checked", line).map((each) => each.value),
  })).filter((row) => Number(row.cnt) !== 0);
  const card = $("#by-card")?.checked ?? false;
  const path = `/dm/api/v3/receipts/${data.dev_id}/${data.number}/return`;
  const { status, json } = await askOrNull("POST", path, { rows, card });
  if (mine !== asked) return null;
  const sums = status === 200 ? json.sums : {};
  const trouble = status === 200 ? sums.trouble || sums.rows.map((row) => row.trouble).find(Boolean) : json?.errortxt || words.no_answer;
  $("#total").textContent = money(sums.topay ?? 0);
  $("#sums").replaceChildren(...[[words.sell_rounding, sums.round], [words.return_card, sums.card], [words.return_cash, sums.cash]]
    .filter(([, value]) => Number(value ?? 0) !== 0)
    .map(([word, value]) => make("div", {}, make("dt", {}, word), make("dd", { class: "number" }, money(value)))));
  $("#trouble").textContent = trouble ?? "";
  $("#trouble").hidden = !trouble;
  return status === 200 && !trouble && sums.pays.length ? json : null;
}

async function giveBack() {
  clearTimeout(later);
  if (isUnsettled()) {
    say(words.sell_first_settle, "open");
    ($("#pending button") ?? $("#give")).focus();
    return;
  }
  const found = await reckon();
  if (!found) {
    if (!$("#trouble").textContent) say(words.return_nothing, "failed");
    return;
  }
  const { tag, receipt, pay, sums } = found;
  const body = { ver: 6, device: data.device, tag, type: 1, fiscal: { task: 2, cashier: $("#cashier").value, receipt } };
  const printer = $("#printer").value;
  let path = printer ? `/dm/execute-prn?dev_id=${encodeURIComponent(printer)}` : "/dm/execute";
  if (pay && Number(sums.card)) {
    path = "/dm/execute-pkg";
    Object.assign(body, { pay, skipprint: printer !== data.batch_printer });
    say(words.sell_at_terminal, "");
  }
  const answer = await perform($("#give").textContent, path, body);
  if (answer && answer.res !== 0) $("#outcome").focus();
}

document.addEventListener("answered", ({ detail: { action, answer } }) => {
  if (answer.res !== 0 || action.body.fiscal?.task !== 2) return;
  const { docno, doccode, printinfo } = answer.info;
  $("#done-facts").replaceChildren(
    make("div", {}, make("dt", {}, words.fiscal_number), make("dd", { class: "code" }, doccode)),
    ...(printinfo?.pays ?? []).map((pay) => make("div", {}, make("dt", {}, pay.name), make("dd", {}, money(pay.sum)))),
  );
  $("#see").href = `/dm/main/receipts/${data.dev_id}/${docno}`;
  if (!answer.warnings?.length) $("#outcome").hidden = true;
  if (form) form.hidden = true;
  $("#done").hidden = false;
  $("#see").focus();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("#open-shift");
  if (button) {
    once(button, () => perform(button.textContent, "/dm/execute", { ver: 6, device: data.device, type: 1, fiscal: { task: 0 } }));
  }
});

if (form) {
  const changed = () => { clearTimeout(later); later = setTimeout(reckon, 120); };
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => { event.preventDefault(); once($("#give"), giveBack); });
  $("#all").addEventListener("click", () => {
    for (const line of $$("[data-row]", form)) {
      $("input", line).value = line.dataset.left;
      for (const box of $$("input[type=checkbox]", line)) box.checked = true;
    }
    changed();
    $("#give").focus();
  });
  $("#cashier").value = localStorage.getItem("dm.cashier") ?? "";
}

const settle = () => { if (isUnsettled()) lookUp(); };
settle();
document.addEventListener("looked", settle);
