// The certificate: installed from files, issued by the local authority, removed.

import { $, askOrNull, lookAgain, once, sure, words } from "./base.js";
import { explain, say } from "./outcome.js";
import { collected } from "./upload.js";

async function tell(title, method, path, body) {
  say(words.working);
  const { status, json } = await askOrNull(method, path, body);
  if (status === 200 || status === 204) {
    say(words.installed);
    if (status === 204) $("#outcome").hidden = true;
    lookAgain();
    return true;
  }
  await explain(json, title);
  return false;
}

$("#upload").addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("#upload button");
  once(button, async () => {
    const parts = collected($("#upload"));
    if (parts && (await tell(button.textContent, "POST", "/dm/api/v3/tls", parts))) $("#upload").reset();
  });
});

$("#make-authority").addEventListener("submit", (event) => {
  event.preventDefault();
  const button = $("#make-authority button");
  const names = $("#names").value.split(/[\s,;]+/).filter(Boolean);
  const fresh = $("#new-authority")?.checked ?? false;
  once(button, () => tell(button.textContent, "POST", "/dm/api/v3/tls/authority", { names, new: fresh }));
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("#remove");
  if (button && (await sure("sure-remove"))) await tell(button.textContent, "DELETE", "/dm/api/v3/tls");
});
