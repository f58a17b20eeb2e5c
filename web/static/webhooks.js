// Programs that get events: add, change, test, a new secret, and what they never took.

import { $, $$, askOrNull, lookAgain, make, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";

const HOOKS = "/dm/api/v3/webhooks";
const dialog = $("#change-hook");
let changed = "";

/** The members of a form. */
function membersOf(form) {
  const found = Object.fromEntries($$("input[name], textarea[name]", form).map((input) => [input.name, input.value.trim()]));
  for (const list of $$("[data-list]", form)) {
    found[list.dataset.list] = $$("input:checked", list).map((box) => box.value);
  }
  return found;
}

/** Show a new secret, for the only time. */
function showSecret(json) {
  say(words.hook_secret);
  $("#outcome").append(make("p", { class: "code" }, json.secret));
  $("#outcome").scrollIntoView({ block: "nearest" });
  lookAgain();
}

/** What the receiver has answered to a test. */
function showTest(json) {
  say(json.taken ? words.hook_taken : json.why, json.taken ? undefined : "failed");
  if (json.status) $("#outcome").append(make("p", {}, `HTTP ${json.status}`));
  if (json.answer) $("#outcome").append(make("pre", {}, json.answer));
}

$("#new-hook").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const button = $("button.main", form);
  once(button, async () => {
    const { status, json } = await askOrNull("POST", HOOKS, membersOf(form));
    if (status !== 201) {
      await explain(json, button.textContent);
      return;
    }
    showSecret(json);
    form.reset();
  });
});

async function open(id) {
  const { json } = await askOrNull("GET", HOOKS);
  const one = json?.webhooks?.find((each) => each.id === id);
  if (!one) return;
  const form = $("form", dialog);
  form.reset();
  for (const input of $$("input[name], textarea[name]", form)) input.value = one[input.name];
  for (const list of $$("[data-list]", form)) {
    for (const box of $$("input", list)) box.checked = one[list.dataset.list].includes(box.value);
  }
  changed = id;
  dialog.showModal();
}

$("[data-close]", dialog).addEventListener("click", () => dialog.close());

$("form", dialog).addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("button.main", dialog);
  once(button, async () => {
    const { status, json } = await askOrNull("PATCH", `${HOOKS}/${changed}`, membersOf(event.target));
    dialog.close();
    if (status === 200) say(words.saved);
    else await explain(json, button.textContent);
    lookAgain();
  });
});

/** What each button asks for; null when the person thinks better of it. */
const ACTIONS = {
  edit: (id) => open(id),
  test: async (id) => {
    say(words.working);
    return askOrNull("POST", `${HOOKS}/${id}/test`, {});
  },
  enable: (id, { on }) => askOrNull("PATCH", `${HOOKS}/${id}`, { enabled: on === "1" }),
  rotate: async (id) => ((await sure("sure-rotate")) ? askOrNull("POST", `${HOOKS}/${id}/rotate`, {}) : null),
  remove: async (id) => ((await sure("sure-hook")) ? askOrNull("DELETE", `${HOOKS}/${id}`) : null),
  again: (id, { n }) => askOrNull("POST", `${HOOKS}/${id}/dead/${n ? `${n}/` : ""}retry`, {}),
  drop: async (id, { n }) => ((await sure("sure-drop")) ? askOrNull("DELETE", `${HOOKS}/${id}/dead/${n}`) : null),
};

$("#live-hooks").parentElement.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const action = Object.keys(ACTIONS).find((each) => button?.dataset[each]);
  if (!action) return;
  once(button, async () => {
    const answer = await ACTIONS[action](button.dataset[action], button.dataset);
    if (!answer) return;
    const { status, json } = answer;
    if (status >= 300 && status !== 404) await explain(json, button.textContent);
    else if (action === "test") showTest(json);
    else if (action === "rotate") showSecret(json);
    else $("#outcome").hidden = true;
    lookAgain();
  });
});
