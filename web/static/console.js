// Requests as a till sends them: edit, send, read the answer.

import { $, ask, data, make, NoAnswer, once, uuid, words } from "./base.js";
import { inWords, meaningOf } from "./outcome.js";

const body = $("#body");
let key = uuid();
let sent = "";

function put(index) {
  const example = data.examples[index];
  // Another request gets another key; only a look-up uses the last one.
  key = example.body.type === 0 && sent ? sent : uuid();
  $("#where").value = example.path;
  body.value = JSON.stringify(example.body, null, 2).replaceAll("{tag}", key);
}

$("#example").addEventListener("change", (event) => put(Number(event.target.value)));

$("#fresh").addEventListener("click", () => {
  const fresh = uuid();
  body.value = body.value.replaceAll(key, fresh);
  key = fresh;
});

$("#console").addEventListener("submit", (event) => {
  event.preventDefault();
  const button = event.submitter ?? $("#console button");
  const error = $(".error", $("#console"));
  error.textContent = "";
  body.removeAttribute("aria-invalid");
  try {
    JSON.parse(body.value);
  } catch (mistake) {
    error.textContent = `${words.bad_json}: ${mistake.message}`;
    body.setAttribute("aria-invalid", "true");
    body.focus();
    return;
  }
  once(button, send);
});

async function send() {
  let answer = null;
  let raw = "";
  if (body.value.includes(key)) sent = key;
  try {
    // The text as it was written: 2.0 stays 2.0.
    ({ json: answer, text: raw } = await ask("POST", $("#where").value, body.value));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  await show(answer, raw);
}

/** JSON text with one member per line, each value as it came: 2.0 stays 2.0. */
function pretty(raw) {
  let depth = 0;
  let written = "";
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of raw.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === "{" || token === "[") {
      depth += 1;
      written += token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      // An empty object stays on its line.
      written = /[{[]\s*$/.test(written) ? written.trimEnd() + token : written + line() + token;
    } else if (token === ",") {
      written += token + line();
    } else if (token === ":") {
      written += ": ";
    } else {
      // Print forms of many kilobytes would hide everything else.
      written += token.startsWith('"data:') ? `${token.slice(0, 48)}…"` : token;
    }
  }
  return written;
}

async function show(answer, raw) {
  const { look, parts } = await inWords(answer, words.answer);
  const place = $("#meaning");
  place.className = look;
  const picture = answer?.pf_image;
  place.replaceChildren(...parts.filter((part) => part.tagName !== "IMG"));
  if (answer) {
    const line = await meaningOf(answer.res);
    const action = words[`action_${answer.res_action}`];
    if (action) place.append(make("p", {}, `res_action ${answer.res_action}: ${action}`));
    if (line) place.append(make("p", {}, make("strong", {}, `${words.for_the_program}: `), line.caller));
  }
  $("#picture").hidden = !picture;
  if (picture) $("#picture").src = picture;
  const text = $("#answer");
  text.hidden = answer === null;
  text.textContent = pretty(raw);
}

/** A request from another page, after the `#`: `{path, body}`. It is shown; only a person sends it. */
function handedOver() {
  try {
    const { path, body: asked } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    if (![...$("#where").options].some((option) => option.value === path)) return false;
    $("#where").value = path;
    for (const name of ["tag", "transaction_id"]) if (asked[name] && asked.type !== 0) asked[name] = key;
    body.value = JSON.stringify(asked, null, 2);
    return true;
  } catch {
    return false;
  }
}

if (!handedOver()) put(0);
