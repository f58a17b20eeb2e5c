// An answer in plain words: what happened, what to do, and the important members.

import { $, ask, make, money, words } from "./base.js";

let catalogue = null;

/** The line of the catalogue for a code, or undefined. */
export async function meaningOf(code) {
  if (!catalogue) {
    try {
      ({ json: catalogue } = await ask("GET", "/dm/main/codes.json"));
    } catch {
      return undefined;
    }
  }
  return catalogue[code];
}

/** Members of `info` that are important for people. */
function facts(info) {
  const told = [
    ["document_number", info.docno],
    ["fiscal_number", info.doccode],
    ["sales", info.summary && money(info.summary.calc_p)],
    ["returns", info.summary && money(info.summary.calc_m)],
    ["last_sale", info.last_receipt_no],
    ["last_return", info.last_back_no],
    ["last_z", info.last_z_no],
    ["offline_numbers", info.last_z_no === undefined ? undefined : info.vacant_off_nums],
    ["cash", info.safe === undefined ? undefined : money(info.safe)],
    ["is_printed", info.isprint === undefined ? undefined : info.isprint ? words.yes : words.no],
    ["merchants", info.merchListValue],
    ["answer", info.restxt ?? info.text],
  ].filter(([, value]) => value !== undefined && value !== null && value !== "");
  return told.map(([word, value]) => {
    const shown = typeof value === "object" ? JSON.stringify(value) : String(value);
    return make("div", {}, make("dt", {}, words[word]), make("dd", {}, shown));
  });
}

/** The elements that explain `answer`; null means no answer at all. */
export async function inWords(answer, title) {
  if (answer === null) {
    return { look: "open", parts: [make("h2", {}, `${title}: ${words.no_answer}`)] };
  }
  const res = answer.res ?? 0;
  const parts = [];
  let look = "done";
  if (res === 0) {
    parts.push(make("h2", {}, `${title}: ${answer.task_status === 2 ? words.done_before : words.done}`));
  } else {
    look = answer.res_action === 2 ? "open" : "failed";
    parts.push(make("h2", {}, `${title}: ${look === "open" ? words.outcome_unknown : words.failed}`));
    parts.push(make("p", { class: "trouble" }, answer.errortxt || String(res)));
    if (answer.aq_errortxt) parts.push(make("p", {}, answer.aq_errortxt));
    const line = await meaningOf(res);
    if (line) parts.push(make("p", {}, make("strong", {}, `${words.what_to_do}: `), line.cashier));
    parts.push(make("p", {}, make("a", { href: `/dm/main/codes?q=${res}` }, `${words.code} ${res}`)));
  }
  const found = facts(answer.info ?? {});
  if (found.length) parts.push(make("dl", { class: "facts" }, ...found));
  if (answer.warnings?.length) {
    const lines = answer.warnings.map((warning) => make("li", {}, `${warning.code}: ${warning.wtxt}`));
    parts.push(make("p", {}, make("strong", {}, words.warnings)), make("ul", {}, ...lines));
  }
  if (answer.pf_image) parts.push(make("img", { class: "paper", src: answer.pf_image, alt: words.picture }));
  return { look, parts };
}

/** Explain `answer` in the page's outcome. */
export async function explain(answer, title) {
  const place = $("#outcome");
  if (!place) return;
  const { look, parts } = await inWords(answer, title);
  place.className = `outcome ${look}`;
  place.hidden = false;
  place.replaceChildren(...parts);
  place.scrollIntoView({ block: "nearest" });
}

/** Show another line there. */
export function say(text, look = "done") {
  const place = $("#outcome");
  place.className = `outcome ${look}`;
  place.hidden = false;
  place.replaceChildren(make("h2", {}, text));
}
