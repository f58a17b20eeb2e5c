// A sale in the browser: a basket that survives everything, its sums from the service, and one receipt for its tag.

import { $, $$, askOrNull, data, make, money, once, sure, uuid, words } from "./base.js";
import { isUnsettled, lookUp, perform, read } from "./tasks.js";

const PLACE = `dm.basket.${data.dev_id}`;
const WEIGHED = /^(кг|г|л|м|kg|g|l|m)\.?$/i;

/** A number as it is typed: with a comma, with blanks; as it is when it is none. */
const plain = (text) => String(text ?? "").replace(/\s/g, "").replace(",", ".");
/** A sum for a field or a request. */
const fixed = (value) => Number(value).toFixed(2);

// The basket: stored with every change. Its tag is its receipt's, so it cannot be sold twice.

const fresh = () => ({ tag: uuid(), rows: [], disc: "", disc_type: "1" });
let spare = null;

function stored() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) ?? spare ?? fresh();
  } catch {
    return spare ?? fresh();
  }
}

let basket = stored();

function keep() {
  spare = basket;
  try {
    localStorage.setItem(PLACE, JSON.stringify(basket));
  } catch {
    // A browser without storage: the page has it while it is open.
  }
}

const usual = {
  get: (name, without) => localStorage.getItem(`dm.${name}`) ?? without,
  set: (name, value) => localStorage.setItem(`dm.${name}`, value),
};

// Rows

const lines = new Map();

function lineOf(row) {
  const label = (word) => `${words[word]}: ${row.name}`;
  const field = (word, name, size) => {
    const input = make("input", { "aria-label": label(word), inputmode: "decimal", class: size, value: row[name] ?? "", autocomplete: "off" });
    input.addEventListener("input", () => { row[name] = input.value; changed(); });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") $("#scan").focus(); });
    return input;
  };
  const kind = make("select", { "aria-label": label("sell_discount_kind"), class: "short" },
    make("option", { value: "1" }, "%"), make("option", { value: "0" }, "₴"));
  kind.value = row.disc_type ?? "1";
  kind.addEventListener("change", () => { row.disc_type = kind.value; changed(); });
  const remove = make("button", { type: "button", "aria-label": label("sell_remove"), click: () => {
    basket.rows.splice(basket.rows.indexOf(row), 1);
    draw();
    changed();
    $("#scan").focus();
  } }, "×");
  const parts = {
    cnt: field("sell_quantity", "cnt", "short"),
    sum: make("strong", { class: "number" }),
    letter: make("span", { class: "help" }),
    trouble: make("p", { class: "error", role: "alert" }),
  };
  const cell = (word, ...inside) => make("span", { class: "cell" }, make("span", { class: "help", "aria-hidden": "true" }, words[word]), make("span", { class: "pair" }, ...inside));
  const line = make("li", {},
    make("div", { class: "head" }, make("span", {}, make("strong", {}, row.name), " ", parts.letter), parts.sum),
    make("div", { class: "row" },
      cell("sell_quantity", parts.cnt, row.unit ?? ""), cell("sell_price", field("sell_price", "price", "short")),
      cell("sell_discount", field("sell_discount", "disc", "short"), kind), remove),
    parts.trouble);
  if (row.excise) line.append(marksOf(row, parts));
  lines.set(row, parts);
  return line;
}

function marksOf(row, parts) {
  const list = make("ul", { class: "plain" });
  const input = make("input", { "aria-label": `${words.sell_mark}: ${row.name}`, placeholder: words.sell_mark, autocomplete: "off", spellcheck: "false" });
  const show = () => list.replaceChildren(...row.code_aa.map((mark, n) => make("li", {}, make("span", { class: "code" }, mark),
    make("button", { type: "button", "aria-label": `${words.sell_remove}: ${mark}`, click: () => { row.code_aa.splice(n, 1); show(); changed(); } }, "×"))));
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const mark = input.value.trim();
    if (mark && !row.code_aa.includes(mark)) row.code_aa.push(mark);
    input.value = "";
    show();
    changed();
    if (row.code_aa.length >= Number(plain(row.cnt))) $("#scan").focus();
  });
  show();
  parts.mark = input;
  return make("div", { class: "field" }, input, list);
}

function draw() {
  lines.clear();
  $("#rows").replaceChildren(...basket.rows.map(lineOf));
  $("#empty").hidden = basket.rows.length > 0;
}

function add(item, count = 1) {
  const known = basket.rows.find((row) => item.code && row.code === item.code && row.price === fixed(item.price));
  const row = known ?? {
    name: item.name, code: item.code ?? "", code1: item.barcode ?? "", code2: item.uktzed ?? "", taxgrp: item.taxgrp ?? "",
    unit: item.unit ?? "", price: fixed(item.price), cnt: "0", ...(item.excise ? { excise: true, code_aa: [] } : {}),
  };
  row.cnt = String(Math.round((Number(plain(row.cnt)) + count) * 1000) / 1000);
  if (!known) basket.rows.push(row);
  draw();
  changed();
  const parts = lines.get(row);
  const next = row.excise ? parts.mark : !Number(item.price) || WEIGHED.test(row.unit) ? parts.cnt : $("#scan");
  next.focus();
  if (next !== $("#scan")) next.select();
}

// Finding

const found = $("#found");

function offer(goods, count) {
  found.replaceChildren(...goods.map((item) => make("li", {}, make("button", { type: "button", click: () => {
    found.replaceChildren();
    add(item, count);
  } }, `${item.name} · ${money(item.price)}`), make("span", { class: "help" }, item.code))));
}

$("#find").addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = $("#scan").value.trim();
  $("#not-found").hidden = true;
  found.replaceChildren();
  if (!given) {
    if (basket.rows.length) ($("#given-field").hidden ? $("#sell") : $("#given")).focus();
    return;
  }
  $("#scan").value = "";
  const [, times, rest] = given.match(/^(\d{1,4}(?:[.,]\d{1,3})?)\s*[*×xх]\s*(.+)$/i) ?? [null, "1", given];
  const { status, json } = await askOrNull("GET", `/dm/api/v3/goods?page_size=20&search=${encodeURIComponent(rest)}`);
  const goods = status === 200 ? json.goods : [];
  if (goods.length === 1) {
    add(goods[0], Number(plain(times)));
  } else if (goods.length) {
    offer(goods, Number(plain(times)));
    $("button", found).focus();
  } else {
    $("#not-found").textContent = status === 200 ? words.sell_not_found : json?.errortxt || words.no_answer;
    $("#not-found").hidden = false;
    if (status !== 200) $("#scan").value = given;
    else {
      $("#free").open = true;
      $("#free-name").value = /^\d+$/.test(rest) ? "" : rest;
      $(/^\d+$/.test(rest) ? "#free-name" : "#free-price").focus();
    }
  }
});

$("#free-form").addEventListener("submit", (event) => {
  event.preventDefault();
  add({ name: $("#free-name").value.trim(), price: plain($("#free-price").value), taxgrp: $("#free-group").value });
  $("#free-form").reset();
  $("#not-found").hidden = true;
});

// Sums: the service's own

const by = () => $("input[name=by]:checked").value;
let asked = 0;
let later = 0;

function receiptOf() {
  return {
    rows: basket.rows.map(({ name, code, code1, code2, code_aa, taxgrp, cnt, price, disc, disc_type }) => {
      const row = { name, code, code1, code2, taxgrp, cnt: plain(cnt), price: plain(price) };
      if (code_aa?.length) row.code_aa = code_aa;
      if (plain(disc)) Object.assign(row, { disc: plain(disc), disc_type: Number(disc_type ?? 1) });
      return row;
    }),
    ...(plain(basket.disc) ? { disc: plain(basket.disc), disc_type: Number(basket.disc_type) } : {}),
  };
}

async function reckon() {
  const mine = (asked += 1);
  const card = by() === "card" ? "all" : by() === "both" ? plain($("#card").value) : 0;
  const body = { receipt: receiptOf(), card, given: by() === "card" ? "" : plain($("#given").value) };
  const { status, json } = await askOrNull("POST", `/dm/api/v3/devices/${data.dev_id}/reckon`, body);
  if (mine !== asked) return null;
  return show(status === 200 ? json : { rows: [], trouble: basket.rows.length ? json?.errortxt || words.no_answer : "" });
}

function show(sums) {
  let whole = sums.pays?.length > 0 && !sums.trouble && !Number(sums.short);
  basket.rows.forEach((row, n) => {
    const { sum, letter, trouble } = lines.get(row);
    const one = sums.rows[n];
    sum.textContent = one ? money(one.cost - one.disc) : "";
    letter.textContent = one?.letter ?? "";
    trouble.textContent = one?.trouble || (row.excise && !row.code_aa.length ? words.sell_needs_mark : "");
    if (trouble.textContent) whole = false;
  });
  $("#total").textContent = money(sums.topay ?? 0);
  const told = [
    [words.sell_before, sums.before, Number(sums.disc) !== 0],
    [words.sell_discount, sums.disc, Number(sums.disc) !== 0],
    [words.sell_rounding, sums.round, Number(sums.round) !== 0],
    ...(sums.taxes ?? []).map((tax) => [`${tax.letter} ${tax.name}`, tax.sum, tax.name]),
    [words.sell_change, sums.change, Number(sums.change) !== 0],
    [words.sell_short, sums.short, Number(sums.short) > 0],
  ];
  $("#sums").replaceChildren(...told.filter(([, , needed]) => needed).map(([word, value]) =>
    make("div", {}, make("dt", {}, word), make("dd", { class: "number" }, money(value)))));
  $("#trouble").textContent = sums.trouble ?? "";
  $("#trouble").hidden = !sums.trouble;
  return whole ? sums : null;
}

function changed() {
  keep();
  clearTimeout(later);
  later = setTimeout(reckon, 120);
}

// Selling

$("#pay").addEventListener("submit", (event) => {
  event.preventDefault();
  once($("#sell"), sell);
});

async function sell() {
  clearTimeout(later);
  if (isUnsettled()) {
    tell(words.sell_first_settle);
    ($("#pending button") ?? $("#sell")).focus();
    return;
  }
  const sums = await reckon();
  if (!sums) {
    if (!$("#trouble").textContent) tell(basket.rows.length ? words.sell_correct : words.sell_empty);
    return;
  }
  const receipt = { ...receiptOf(), sum: sums.sum, autoround: true, pays: sums.pays };
  const body = { ver: 6, device: data.device, tag: basket.tag, type: 1, fiscal: { task: 1, cashier: $("#cashier").value, receipt } };
  const email = $("#email")?.value.trim();
  if (email) body.userinfo = { email };
  const printer = $("#printer").value;
  let path = printer ? `/dm/execute-prn?dev_id=${encodeURIComponent(printer)}` : "/dm/execute";
  if (Number(sums.card)) {
    path = "/dm/execute-pkg";
    body.skipprint = printer !== data.batch_printer;
    tell(words.sell_at_terminal);
  }
  const answer = await perform($("#sell").textContent, path, body);
  if (answer && answer.res !== 0) $("#outcome").focus();
}

function tell(text) {
  const place = $("#outcome");
  place.className = "outcome";
  place.hidden = false;
  place.replaceChildren(make("h2", {}, text));
  place.scrollIntoView({ block: "nearest" });
}

let last = null;

// Also of a sale whose answer was lost and found again.
document.addEventListener("answered", async ({ detail: { action, answer } }) => {
  if (answer.res !== 0 || action.body.fiscal?.task !== 1) return;
  last = action.body;
  if (action.key === basket.tag) {
    basket = fresh();
    keep();
    draw();
    for (const id of ["#disc", "#card", "#given", "#email"]) if ($(id)) $(id).value = "";
  }
  done(answer);
  const printer = $("#printer").value;
  if (action.path === "/dm/execute-pkg" && action.body.skipprint && printer) await print(printer);
});

function done(answer) {
  const info = answer.info ?? {};
  const paper = info.printinfo ?? {};
  const facts = [[words.fiscal_number, info.doccode], [words.sell_before, money(paper.sum_topay)]];
  if (Number(paper.change)) facts.push([words.sell_change, money(paper.change)]);
  $("#done-facts").replaceChildren(...facts.map(([word, value]) => make("div", {}, make("dt", {}, word), make("dd", { class: "code" }, value))));
  $("#done-title").textContent = info.isoffline ? words.sell_done_offline : words.sell_done;
  $("#see").href = `/dm/main/receipts/${data.dev_id}/${info.docno}`;
  $("#link").hidden = !info.qr;
  if (info.qr) $("#link").href = info.qr;
  $("#qr").replaceChildren(info.qr ? make("img", { class: "qr", src: `${$("#see").getAttribute("href")}/qr`, alt: words.sell_link }) : "");
  if (!answer.warnings?.length) $("#outcome").hidden = true;
  $("#desk").hidden = true;
  $("#done").hidden = false;
  show({ rows: [] });
  $("#again").focus();
}

// The receipt has its paper once: the service prints only what was not printed.
async function print(printer) {
  const body = { ver: 6, device: last.device, tag: last.tag, type: 1, fiscal: { task: 1 } };
  await read($("#print")?.textContent ?? "", `/dm/execute-prn?dev_id=${encodeURIComponent(printer)}`, body);
}

$("#print")?.addEventListener("click", () => once($("#print"), () => print($("#printer").value || data.printer)));

$("#again").addEventListener("click", () => {
  $("#done").hidden = true;
  $("#outcome").hidden = true;
  $("#desk").hidden = false;
  reckon();
  $("#scan").focus();
});

$("#clear").addEventListener("click", async () => {
  if (!(await sure("sure-clear"))) return;
  basket = fresh();
  keep();
  begin();
  $("#scan").focus();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("#open-shift");
  if (button) {
    once(button, () => perform(button.textContent, "/dm/execute", {
      ver: 6, device: data.device, type: 1, fiscal: { task: 0, cashier: $("#cashier").value },
    })).then(() => $("#scan").focus());
  }
});

// Fields

function begin() {
  draw();
  $("#disc").value = basket.disc;
  $("#disc-type").value = basket.disc_type;
  reckon();
}

for (const [id, name] of [["#disc", "disc"], ["#disc-type", "disc_type"]]) {
  $(id).addEventListener("input", () => { basket[name] = $(id).value; changed(); });
}
for (const id of ["#card", "#given"]) $(id).addEventListener("input", changed);
for (const radio of $$("input[name=by]")) {
  radio.addEventListener("change", () => {
    $("#card-field").hidden = by() !== "both";
    $("#given-field").hidden = by() === "card";
    changed();
  });
}
$("#cashier").value = usual.get("cashier", "");
$("#cashier").addEventListener("change", () => usual.set("cashier", $("#cashier").value));
$("#printer").value = usual.get(`printer.${data.dev_id}`, data.printer);
if ($("#printer").selectedIndex < 0) $("#printer").value = "";
$("#printer").addEventListener("change", () => usual.set(`printer.${data.dev_id}`, $("#printer").value));

begin();
const settle = () => { if (isUnsettled()) lookUp(); };
settle();
document.addEventListener("looked", settle);
// Another window on this register has sold or changed the basket.
window.addEventListener("storage", (event) => {
  if (event.key !== PLACE) return;
  basket = stored();
  begin();
});
