// Actions of a cashier: every button is a task of the register, done once.

import { $, ask, data, lookAgain, make, money, NoAnswer, sure, words } from "./base.js";
import { explain } from "./outcome.js";
import { perform, read } from "./tasks.js";

const STATUS = 18;
const READS = new Set([10, STATUS, 21, 22]);
const PLAIN = new Set([STATUS, 21]); // Tasks without paper.
const MINUTE = 60_000; // Hours run out without any event.

const cashier = $("#cashier");
cashier.value = localStorage.getItem("dm.cashier") ?? "";
cashier.addEventListener("change", () => localStorage.setItem("dm.cashier", cashier.value));

function where() {
  const printer = $("#printer").value;
  return printer ? `/dm/execute-prn?dev_id=${encodeURIComponent(printer)}` : "/dm/execute";
}

function bodyOf(task, more = {}) {
  const body = { ver: 6, device: data.device, type: 1, fiscal: { task, cashier: cashier.value, ...more } };
  return PLAIN.has(task) ? body : { ...body, need_pf_img: 2 };
}

async function doTask(title, task) {
  if (READS.has(task)) return read(title, PLAIN.has(task) ? "/dm/execute" : where(), bodyOf(task));
  return perform(title, where(), bodyOf(task));
}

async function changeMode(title, mode) {
  let answer = null;
  try {
    ({ json: answer } = await ask("POST", `/dm/api/v3/devices/${data.dev_id}/${mode}`));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  await explain(answer, title);
}

// Buttons come and go while the page is open, so what runs is kept here and not with the button.
const running = new Set();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-task]:not([type=submit]), button[data-mode]");
  const { task, mode, sure: question } = button?.dataset ?? {};
  if (!button || running.has(task ?? mode)) return;
  const title = button.textContent;
  if (question === "sure-z") lookAgain();
  if (question && !(await sure(question))) return;
  // A live reload may replace the button meanwhile.
  const isStep = button.closest("#live-next, #live-home") !== null;
  running.add(task ?? mode);
  button.setAttribute("aria-busy", "true");
  try {
    await (mode ? changeMode(title, mode) : doTask(title, Number(task)));
  } finally {
    running.delete(task ?? mode);
    button.removeAttribute("aria-busy");
  }
  // The next step has other buttons; a second press of the same key must not do it.
  if (isStep) $("#outcome").focus();
  lookAgain();
});

// Cash: what is in the drawer, and what will be.

const form = $("#cash-form");
const amount = $("#amount");

/** Kopecks of what was typed, or NaN. */
function typed() {
  const text = amount.value.replaceAll(/\s/g, "").replace(",", ".");
  return /^\d+(\.\d{1,2})?$/.test(text) ? Math.round(Number(text) * 100) : NaN;
}

const hryvnias = (kopecks) => `${money(kopecks / 100)} ${words.hryvnias}`;

function showDrawer() {
  const drawer = $("#live-drawer [data-drawer]");
  $("#cash").hidden = !drawer;
  if (!drawer) return;
  const safe = Number(drawer.dataset.drawer);
  const sum = typed();
  const less = "limits" in drawer.dataset && (safe === 0 || sum > safe);
  $("button[data-task='4']", form).disabled = less;
  const line = (word, text) => make("div", {}, make("dt", {}, word), make("dd", { class: "number" }, text));
  const after = sum > 0 ? [line(words.drawer_in, hryvnias(safe + sum))] : [];
  if (less) after.push(line(words.drawer_out, words.drawer_less));
  else if (sum > 0) after.push(line(words.drawer_out, hryvnias(safe - sum)));
  $("#after").replaceChildren(...after);
}

amount.addEventListener("input", showDrawer);
document.addEventListener("looked", showDrawer);
showDrawer();

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter ?? $("button", form);
  if (running.has(button.dataset.task)) return;
  running.add(button.dataset.task);
  button.setAttribute("aria-busy", "true");
  try {
    const sum = amount.value.replaceAll(/\s/g, "").replace(",", ".");
    const task = Number(button.dataset.task);
    const answer = await perform(button.textContent, where(), bodyOf(task, { cash: { type: 0, sum } }));
    if (answer?.res === 0) amount.value = "";
  } finally {
    running.delete(button.dataset.task);
    button.removeAttribute("aria-busy");
    showDrawer();
  }
});

setInterval(lookAgain, MINUTE);
