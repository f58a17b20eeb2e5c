// Tasks that are done once, whatever happens to the answer.
//
// The key of an action (tag, transaction_id) is made once and kept in the browser before anything is sent. When the
// answer is lost, the page is closed or the service starts anew, the action is still here, and repeating it sends the
// same key: the service answers what it did, and does nothing twice.

import { $, ask, data, lookAgain, make, NoAnswer, sure, uuid, words } from "./base.js";
import { explain } from "./outcome.js";

const STORE = "dm.pending";

// Where the browser keeps nothing, the page itself does, as long as it is open.
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

/** Whether an answer is the last word: then the action is over, and doing it again is another action. */
function isOver(answer, payment) {
  return payment ? answer.res_action !== 2 : answer.res_action === 0 || answer.res_action === 3;
}

/**
 * Do a task that makes something happen. The same task that is still without an answer is repeated, not done anew.
 *
 * `body` has no key yet; `named` is the member that carries it. Resolves to the answer, or to null without one.
 */
export async function perform(title, path, body, named = "tag") {
  const what = JSON.stringify([path, body]);
  let action = kept().find((each) => each.what === what);
  if (!action) {
    const key = uuid();
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
  let answer = null;
  try {
    ({ json: answer } = await ask("POST", action.path, action.body));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  } finally {
    onTheWay.delete(action.key);
  }
  // Whatever is no answer of a task says nothing about the task.
  if (typeof answer?.res !== "number") answer = null;
  if (answer && isOver(answer, action.payment)) keep(without(action.key));
  else showPending();
  await explain(answer, action.title);
  lookAgain();
  return answer;
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

/** Show the actions of this page's device that have no last word yet. */
export function showPending() {
  const place = $("#pending");
  if (!place) return;
  const mine = kept().filter((action) => action.device === data.device && !onTheWay.has(action.key));
  place.hidden = mine.length === 0;
  place.replaceChildren();
  if (!mine.length) return;
  place.append(make("h2", {}, words.pending), make("p", {}, words.pending_text));
  for (const action of mine) {
    const repeat = make("button", { type: "button", class: "main" }, words.repeat);
    repeat.addEventListener("click", async () => {
      await send(action);
      // The button went with its action: whoever works by keyboard goes on from what came of it.
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
