// The list of goods: one by one, and from a file that is shown before it counts.

import { $, askOrNull, lookAgain, make, money, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";
import { collected } from "./upload.js";

const one = $("#one");

one.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button", one);
  once(button, async () => {
    const item = Object.fromEntries(new FormData(one));
    const body = { ...item, price: item.price.replace(/\s/g, ""), excise: $("#one-excise").checked };
    const { status, json } = await askOrNull("POST", "/dm/api/v3/goods", body);
    if (status === 200 || status === 201) {
      say(`${words.saved}: ${json.name}`);
      one.reset();
      lookAgain();
      $("#one-code").focus();
    } else await explain(json, button.textContent);
  });
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.edit) {
    const item = JSON.parse(button.dataset.edit);
    for (const [name, value] of Object.entries(item)) if (name !== "excise") $(`#one-${name}`).value = value;
    $("#one-excise").checked = item.excise;
    $("#one-name").focus();
  } else if (button?.dataset.remove && (await sure("sure-remove"))) {
    const { status, json } = await askOrNull("DELETE", `/dm/api/v3/goods?code=${encodeURIComponent(button.dataset.remove)}`);
    if (status === 204) lookAgain();
    else await explain(json, button.textContent);
  }
});

const place = $("#preview");
const take = $("#take");
const form = $("#import");

async function send(button, dry) {
  const parts = collected(form);
  if (!parts) return;
  parts.append("mode", $("#mode").value);
  parts.append("dry", dry ? "1" : "");
  const { status, json } = await askOrNull("POST", "/dm/api/v3/goods/import", parts);
  take.hidden = true;
  if (!json?.mistakes) {
    await explain(json, button.textContent);
    return;
  }
  const title = json.mistakes.length ? words.goods_mistakes : json.done ? words.goods_taken : words.goods_would;
  const counts = ["goods_added", "goods_changed", "goods_removed", "goods_total"].map((word) => `${words[word]}: ${json[word.slice(6)]}`);
  const lines = json.mistakes.length
    ? json.mistakes.map(({ line, text }) => make("li", { class: "error" }, line ? `${words.goods_line} ${line}: ${text}` : text))
    : json.goods.map((item) => make("li", {}, `${item.code} · ${item.name} · ${money(item.price)}`));
  place.replaceChildren(make("h3", {}, title), json.mistakes.length ? "" : make("p", {}, counts.join(", ")), make("ul", {}, ...lines));
  take.hidden = status !== 200 || json.done;
  if (json.done) {
    form.reset();
    lookAgain();
  }
  (take.hidden ? place : take).focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button", form);
  once(button, () => send(button, true));
});
take.addEventListener("click", () => once(take, () => send(take, false)));
for (const input of [$("#file-file"), $("#mode")]) input.addEventListener("change", () => { take.hidden = true; });
