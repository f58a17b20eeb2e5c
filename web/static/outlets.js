// The outlets of a register's key at the tax service; the chosen one goes into the settings.

import { $, askOrNull, data, make, once, words } from "./base.js";
import { explain } from "./outcome.js";

const place = $("#outlets");

/** Fill the form with the data of the tax service; nothing is stored before it is saved. */
function take(outlet, register) {
  const known = {
    fiscal_number: register.fiscal_number,
    local_number: register.local_number,
    name: outlet.org_name,
    shopname: outlet.name,
    shopad: outlet.address,
    fis_code: outlet.tin,
    vat_code: outlet.ipn,
  };
  for (const [name, value] of Object.entries(known)) {
    const input = $(`#s-${name}`);
    if (!input || !value) continue;
    input.value = value;
    const details = input.closest("details");
    if (details) details.open = true;
  }
  $("#settings button.main").focus();
  $("#settings").scrollIntoView({ block: "start" });
}

function listed(outlet) {
  const registers = outlet.registers.filter((each) => !each.closed).map((register) => {
    const button = make("button", { type: "button", click: () => take(outlet, register) }, words.outlet_take);
    return make("li", {}, make("span", {}, `${register.fiscal_number} (${register.local_number}) ${register.name}`), button);
  });
  return make(
    "li", {}, make("strong", {}, outlet.name), make("p", { class: "help" }, `${outlet.org_name}, ${outlet.tin}; ${outlet.address}`),
    make("ul", { class: "plain keys" }, ...registers),
  );
}

const button = $("#ask-outlets");
button?.addEventListener("click", () => once(button, async () => {
  const { status, json } = await askOrNull("GET", `/dm/api/v3/devices/${data.dev_id}/tax-objects`);
  if (status !== 200) {
    await explain(json, button.textContent);
    return;
  }
  $("#outcome").hidden = true;
  const found = json.tax_objects.map(listed);
  place.replaceChildren(...(found.length ? [make("ul", { class: "outlets" }, ...found)] : [make("p", {}, words.outlet_none)]));
}));
