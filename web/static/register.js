// The way to a register at the tax service, step by step: key, register, save, shift. The key stays in this form until
// the register is stored; a step that fails leaves those before it as they are. The fiscal server lists the registers of
// the key; the cabinet's server is asked about one by its number.

import { $, $$, askOrNull, data, make, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";
import { perform } from "./tasks.js";
import { collected } from "./upload.js";

const told = data.words;
const steps = $$(".wizard > li");
let examined = null;
/** The protocol of the server that said it. */
let protocol = "a";
let chosen = null;

/** Go to a step: those before it say what was done, those after it are not there yet. */
function goTo(id) {
  const at = steps.findIndex((step) => step.id === id);
  for (const [number, step] of steps.entries()) {
    step.hidden = number > at;
    step.classList.toggle("done", number < at);
    $("form, .asks", step).hidden = number < at;
    $(".told", step).hidden = number >= at;
  }
  $("#outcome").hidden = true;
  $("h2", steps[at]).focus();
  steps[at].append($("#outcome"));
}

function tell(id, ...parts) {
  $(`#${id} .told`).replaceChildren(...parts);
}

for (const button of $$("[data-back]")) button.addEventListener("click", () => goTo(button.dataset.back));

function missing(input) {
  const empty = !input.value.trim();
  $(".error", input.closest(".field")).textContent = empty ? words.needed : "";
  input.toggleAttribute("aria-invalid", empty);
  if (empty) {
    input.setAttribute("aria-invalid", "true");
    input.focus();
  }
  return empty;
}

steps[0].append($("#outcome"));

/** What went wrong, with advice to an owner: the catalogue's own is for a cashier with a receipt. */
function advise(answer, title, advice) {
  say(title, "failed");
  const code = answer?.res;
  $("#outcome").append(
    make("p", { class: "trouble" }, answer?.errortxt ?? words.no_answer), make("p", {}, advice),
    ...(code ? [make("p", {}, make("a", { href: `/dm/main/codes?q=${code}` }, `${words.code} ${code}`))] : []),
  );
}

// 1: the key

const keyForm = $("#key-form");

function keyFacts(key) {
  const until = key.valid_to.slice(0, 10).split("-").reverse().join(".");
  return make(
    "dl", { class: "facts" },
    ...[[told.key_owner, key.owner], [told.made_by, key.issuer], [told.valid_to, until], [told.days_left, String(key.days_left)]]
      .map(([title, value]) => make("div", {}, make("dt", {}, title), make("dd", {}, value))),
  );
}

keyForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button.main", keyForm);
  once(button, async () => {
    const parts = collected(keyForm);
    if (!parts || missing($("#password"))) return;
    say(told.examining);
    const { json } = await askOrNull("POST", "/dm/api/v3/tax-key", parts);
    [examined, protocol] = [json, "a"];
    if (!json?.key) {
      advise(json, told.key_bad, told.key_bad_text);
      return;
    }
    tell("step-key", keyFacts(json.key));
    if (json.res !== 0) {
      advise(json, told.tax_silent, told.tax_silent_text);
      $("#outcome").prepend(make("h2", {}, told.key_good), keyFacts(json.key));
      $("#offers").replaceChildren();
      $("#outcome").append(make("button", { type: "button", click: () => goTo("step-choose") }, told.go_cabinet));
      return;
    }
    offer();
    goTo("step-choose");
  });
});

// 2: the register

function registerOf(outlet, register) {
  const title = make("span", {}, make("strong", {}, register.name || told.register), ` ${register.fiscal_number}`);
  const mine = examined.devices[register.fiscal_number];
  if (mine) return make("li", {}, title, make("span", {}, `${told.here_already}: ${mine}`));
  const button = make("button", { type: "button", click: () => choose(outlet, register) }, words.outlet_take);
  button.setAttribute("aria-label", `${words.outlet_take}: ${register.name} ${register.fiscal_number}`);
  const isOpen = examined.open_shifts.includes(register.fiscal_number);
  return make("li", {}, title, isOpen ? make("p", { class: "notice" }, told.open_elsewhere) : null, button);
}

function offer() {
  const outlets = examined.tax_objects.map((outlet) => {
    const rows = outlet.registers.filter((each) => !each.closed).map((each) => registerOf(outlet, each));
    return make(
      "li", {}, make("strong", {}, outlet.name), make("p", { class: "help" }, `${outlet.org_name}, ${outlet.tin}; ${outlet.address}`),
      rows.length ? make("ul", { class: "plain keys" }, ...rows) : make("p", { class: "notice" }, told.no_registers),
    );
  });
  const payers = examined.other_payers;
  $("#offers").replaceChildren(
    ...(payers.length ? [make("p", { class: "notice" }, `${told.other_firm}: ${payers.join(", ")}.`)] : []),
    outlets.length ? make("ul", { class: "outlets" }, ...outlets) : make("p", { class: "notice" }, told.key_unknown),
  );
}

const cabinetForm = $("#cabinet-form");

cabinetForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button", cabinetForm);
  once(button, async () => {
    if (missing($("#number"))) return;
    const parts = collected(keyForm);
    parts.set("server_url", $("#cabinet_url").value.trim());
    parts.set("fiscal_number", $("#number").value.trim());
    say(words.working);
    const { json } = await askOrNull("POST", "/dm/api/v3/tax-key", parts);
    if (!json?.key || json.res !== 0) {
      advise(json, told.cabinet_refused, told.cabinet_refused_text);
      return;
    }
    [examined, protocol] = [json, "b"];
    $("#outcome").hidden = true;
    offer();
    $("#offers").scrollIntoView({ block: "nearest" });
    $("#offers button")?.focus();
  });
});

function choose(outlet, register) {
  chosen = { outlet, register };
  const named = register.name || told.register;
  let name = named;
  for (let n = 2; data.taken.includes(name); n += 1) name = `${named} ${n}`;
  $("#device").value = name;
  const server = protocol === "b" ? `. ${words.protocol_b}` : "";
  const where = `: ${outlet.name}, ${outlet.org_name}, ${outlet.address}${server}`;
  tell("step-choose", make("p", {}, make("strong", {}, `${named} ${register.fiscal_number}`), where));
  goTo("step-save");
}

// 3: saved, with its key

const saveForm = $("#save-form");

function settings() {
  const { outlet, register } = chosen;
  const found = {
    fiscal_number: register.fiscal_number,
    local_number: register.local_number,
    name: outlet.org_name,
    shopname: outlet.name,
    shopad: outlet.address,
    fis_code: outlet.tin,
    vat_code: outlet.ipn,
    protocol: protocol === "b" ? "b" : "",
    server_url: $(protocol === "b" ? "#cabinet_url" : "#server_url").value.trim(),
  };
  const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value));
  return $("#offline").checked ? { ...given, offline_allowed: true } : given;
}

/** Store the register once; a key that fails afterwards is loaded again without another register. */
async function stored(title) {
  const body = { device: $("#device").value.trim(), settings: settings() };
  const [method, path] = data.dev_id ? ["PATCH", `/dm/api/v3/devices/${data.dev_id}`] : ["POST", "/dm/api/v3/devices"];
  const whole = data.dev_id ? body : { ...body, kind: "register", driver: "prro" };
  let answer = await askOrNull(method, path, whole);
  if ((answer.json?.errors ?? []).some((error) => error.path === "confirm_real") && (await sure("sure-real"))) {
    answer = await askOrNull(method, path, { ...whole, confirm_real: true });
  }
  if (answer.status !== 200 && answer.status !== 201) {
    await explain(answer.json, title);
    return false;
  }
  data.dev_id = answer.json.dev_id;
  data.device = answer.json.device;
  return true;
}

saveForm.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button.main", saveForm);
  once(button, async () => {
    if (missing($("#device"))) return;
    say(words.working);
    if (!(await stored(button.textContent))) return;
    const parts = collected(keyForm);
    const { json } = await askOrNull("POST", `/dm/main/api/v1/prro/sign?dev_id=${encodeURIComponent(data.dev_id)}`, parts);
    if (json?.res !== 0) {
      advise(json, told.key_bad, told.key_bad_text);
      return;
    }
    $("#password").value = "";
    for (const link of $$("[data-board]")) link.href = `/dm/main/registers/${data.dev_id}`;
    $("[data-device]").href = `/dm/devices/${data.dev_id}`;
    tell("step-save", make("p", {}, `${words.saved}: `, make("strong", {}, data.device)));
    goTo("step-open");
  });
});

// 4: the shift

const open = $("#open");
open.addEventListener("click", () => once(open, async () => {
  const answer = await perform(open.textContent, "/dm/execute", { ver: 6, device: data.device, type: 1, fiscal: { task: 0 } });
  // 1096: the shift was opened meanwhile, which is just as good.
  if (!answer || (answer.res !== 0 && answer.res !== 1096)) return;
  $("#step-open").classList.add("done");
  open.closest(".asks").hidden = true;
  $("#ready").hidden = false;
  $("#ready-title").focus();
}));
