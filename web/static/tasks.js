// Tasks that are done once, whatever happens to the answer.
//
// The key of an action (tag, transaction_id) is created once and stored in the browser before anything is sent. After
// a lost answer, a closed page or a restart of the service the action is still here. Its repeat sends the same key:
// the service returns the same answer, and does nothing twice.

import { $, ask, data, lookAgain, make, NoAnswer, sure, uuid, words } from "./base.js";
import { explain } from "./outcome.js";

const STORE = "dm.pending";

// A browser without storage: the page keeps them while it is open.
let spare = null;

function kept() {
  if (spare) return spare;
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "[]");
  } catch {
    return [];
  }
}

function keep(actions) {
  try {
    localStorage.setItem(STORE, JSON.stringify(actions));
    spare = null;
  } catch {
    spare = actions;
  }
  showPending();
}

const onTheWay = new Set();

const without = (key) => kept().filter((action) => action.key !== key);

/** Whether an answer is final: then the action is over, and doing it again is another action. */
function isOver(answer, payment) {
  return payment ? answer.res_action !== 2 : answer.res_action === 0 || answer.res_action === 3;
}

/**
 * Do a task with an effect. The same task that is still without an answer is repeated with its key.
 *
 * `body` has no key yet; `named` is its member. Resolves to the answer, or to null without one.
 */
export async function perform(title, path, body, named = "tag") {
  const what = JSON.stringify([path, body]);
  let action = kept().find((each) => each.what === what);
  if (!action) {
    // A basket has its key before it is sold, and keeps it until it is.
    const key = body[named] ?? uuid();
    const whole = { ...body, [named]: key };
    if (named === "transaction_id") whole.transaction_search = 2;
    action = { key, title, path, what, body: whole, device: body.device, payment: named === "transaction_id" };
    onTheWay.add(key);
    keep([...kept(), action]);
  }
  return send(action);
}

async function send(action) {
  onTheWay.add(action.key);
  showPending();
  // A register does one task at a time: our own question must not make it refuse this one as busy.
  await asking?.catch(() => {});
  let answer = null;
  try {
    ({ json: answer } = await ask("POST", action.path, action.body));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  } finally {
    onTheWay.delete(action.key);
  }
  // Anything but the answer to a task says nothing about the task.
  if (typeof answer?.res !== "number") answer = null;
  if (answer && isOver(answer, action.payment)) keep(without(action.key));
  else showPending();
  await explain(answer, action.title);
  if (answer) tellSettled(action, answer);
  lookAgain();
  return answer;
}

const tellSettled = (action, answer) =>
  document.dispatchEvent(new CustomEvent("answered", { detail: { action, answer } }));

const mine = () => kept().filter((action) => action.device === data.device && !onTheWay.has(action.key));

/** Whether an action of this page's device has no final answer. */
export const isUnsettled = () => mine().length > 0;

let asking = null;

/** Ask for what became of the actions without an answer, without doing any of them. */
export const lookUp = () => (asking ??= lookUpAll().finally(() => { asking = null; }));

async function lookUpAll() {
  for (const action of mine()) {
    if (action.payment || onTheWay.has(action.key)) continue;
    let answer = null;
    try {
      ({ json: answer } = await ask("POST", "/dm/execute", { ver: 6, device: action.device, type: 0, tag: action.key }));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
    if (answer?.res !== 0) continue;
    keep(without(action.key));
    await explain(answer, action.title);
    tellSettled(action, answer);
  }
}

/** Do a task that only reads; it needs no key. */
export async function read(title, path, body) {
  let answer = null;
  try {
    ({ json: answer } = await ask("POST", path, body));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  await explain(answer, title);
  return answer;
}

/** Show the actions of this page's device without a final answer. */
export function showPending() {
  const place = $("#pending");
  if (!place) return;
  const open = mine();
  place.hidden = open.length === 0;
  place.replaceChildren();
  if (!open.length) return;
  place.append(make("h2", {}, words.pending), make("p", {}, words.pending_text));
  for (const action of open) {
    const repeat = make("button", { type: "button", class: "main" }, words.repeat);
    repeat.addEventListener("click", async () => {
      await send(action);
      // The button disappears with its action, so the focus goes to the outcome.
      if (document.activeElement === document.body) $("#outcome").focus();
    });
    const forget = make("button", { type: "button" }, words.forget);
    forget.addEventListener("click", async () => {
      if (!(await sure("sure-forget"))) return;
      keep(without(action.key));
      ($("#pending button") ?? $("#content")).focus();
    });
    place.append(make("p", { class: "row" }, make("strong", {}, action.title), repeat, forget));
  }
}

showPending();
