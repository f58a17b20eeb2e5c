// People and keys: what each may do; and the password of who is logged in.

import { $, $$, askOrNull, lookAgain, make, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";

// Devices are asked for only with the roles that have some.

function adapt(root) {
  const role = $("select[name=role]", root);
  if (role) $("fieldset", root).hidden = !role.selectedOptions[0].hasAttribute("data-bound");
}

for (const role of $$("select[name=role]")) {
  role.addEventListener("change", () => adapt(role.form));
  role.form.addEventListener("reset", () => setTimeout(() => adapt(role.form)));
  adapt(role.form);
}

function granted(form) {
  const bound = !$("fieldset", form).hidden;
  const boxes = bound ? $$("fieldset input:checked", form) : [];
  return { role: $("select[name=role]", form).value, devices: boxes.map((box) => box.value) };
}

const USERS = "/dm/api/v3/users";
const KEYS = "/dm/api/v3/api-keys";

/** Show a new key, for the only time. */
function showKey(json) {
  say(words.new_key);
  $("#outcome").append(make("p", { class: "code" }, json.key));
  $("#outcome").scrollIntoView({ block: "nearest" });
  lookAgain();
}

function onSubmit(form, work) {
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter ?? $("button.main", form) ?? $("button", form);
    once(button, () => work(button));
  });
}

onSubmit($("#new-key"), async (button) => {
  const form = $("#new-key");
  const { status, json } = await askOrNull("POST", KEYS, { name: $("#key-name").value, ...granted(form) });
  if (status !== 201) {
    await explain(json, button.textContent);
    return;
  }
  showKey(json);
  form.reset();
});

onSubmit($("#new-person"), async (button) => {
  const form = $("#new-person");
  const body = { login: $("#person-login").value, password: $("#person-password").value, ...granted(form) };
  const { status, json } = await askOrNull("POST", USERS, body);
  if (status !== 201) {
    await explain(json, button.textContent);
    return;
  }
  say(words.saved);
  form.reset();
  lookAgain();
});

// One dialog changes a person or a key.

const dialog = $("#change-grant");
let changed = "";

function open(button) {
  const { change, role, devices, login } = button.dataset;
  const form = $("form", dialog);
  form.reset();
  changed = change;
  $("h2", dialog).textContent = login;
  $("select[name=role]", form).value = role;
  const its = new Set(devices.split(" "));
  for (const box of $$("fieldset input", form)) box.checked = its.has(box.value);
  $("[data-password]", dialog).hidden = !change.startsWith(USERS);
  adapt(form);
  dialog.showModal();
}

$("[data-close]", dialog ?? document)?.addEventListener("click", () => dialog.close());

onSubmit(dialog && $("form", dialog), async (button) => {
  const form = $("form", dialog);
  const password = $("#grant-password").value;
  const { status, json } = await askOrNull("PATCH", changed, { ...granted(form), ...(password && { password }) });
  dialog.close();
  if (status === 200) say(words.saved);
  else await explain(json, button.textContent);
  lookAgain();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-key], button[data-replace], button[data-person], button[data-change]");
  if (!button) return;
  const { key, replace, person, change } = button.dataset;
  if (change) {
    open(button);
    return;
  }
  if (!(await sure(key ? "sure-key" : person ? "sure-person" : "sure-replace"))) return;
  const path = person ? `${USERS}/${encodeURIComponent(person)}` : `${KEYS}/${encodeURIComponent(key ?? replace)}`;
  const { status, json } = await (replace ? askOrNull("POST", `${path}/replace`, {}) : askOrNull("DELETE", path));
  if (status === 204) lookAgain();
  else if (status === 200) showKey(json);
  else await explain(json, button.textContent);
});

onSubmit($("#own-password"), async (button) => {
  const form = $("#own-password");
  if ($("#password").value !== $("#again").value) {
    $("#again").setCustomValidity(words.passwords_differ);
    $("#again").reportValidity();
    return;
  }
  const { status, json } = await askOrNull("POST", `${USERS}/me/password`, { old: $("#old").value, password: $("#password").value });
  if (status === 200) location.assign("/login");
  else await explain(json, button.textContent);
  form.reset();
});
$("#again")?.addEventListener("input", () => $("#again").setCustomValidity(""));
