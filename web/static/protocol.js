// Which of the tax service's two servers knows a register; the found protocol goes into the settings.

import { $, askOrNull, data, make, once, words } from "./base.js";
import { explain } from "./outcome.js";

const place = $("#protocol-found");
const KNOWLEDGE = new Map([[true, words.protocol_knows], [false, words.protocol_knows_not], [null, words.protocol_silent]]);
const FOUND = {
  a: words.protocol_a, b: words.protocol_b, both: words.protocol_both, neither: words.protocol_neither, unknown: words.protocol_unknown,
};

/** Choose the protocol in the form; nothing is stored before it is saved. */
function take(protocol) {
  const choice = $("#s-protocol");
  choice.value = JSON.stringify(protocol);
  const details = choice.closest("details");
  if (details) details.open = true;
  $("#settings button.main").focus();
  $("#settings").scrollIntoView({ block: "start" });
}

function said(name, server) {
  const what = `${FOUND[name]}: ${KNOWLEDGE.get(server.knows)}`;
  const why = [server.text, server.url && `(${server.url})`].filter(Boolean).join(" ");
  return make("li", {}, make("span", {}, what), make("p", { class: "help" }, why));
}

const button = $("#ask-protocol");
button?.addEventListener("click", () => once(button, async () => {
  const { status, json } = await askOrNull("GET", `/dm/api/v3/devices/${data.dev_id}/protocol`);
  if (status !== 200) {
    await explain(json, button.textContent);
    return;
  }
  $("#outcome").hidden = true;
  const chosen = ["a", "b"].includes(json.protocol) && $("#s-protocol");
  const choose = make("button", { type: "button", click: () => take(json.protocol) }, words.outlet_take);
  place.replaceChildren(
    make("p", {}, make("strong", {}, FOUND[json.protocol])),
    ...(chosen && chosen.value !== JSON.stringify(json.protocol) ? [make("p", {}, choose)] : []),
    make("ul", { class: "outlets" }, said("a", json.a), said("b", json.b)),
  );
}));
