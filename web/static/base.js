// Shared by all scripts: texts, requests to the service, small parts of pages.

const block = (id) => {
  const found = document.getElementById(id);
  return found ? JSON.parse(found.textContent) : {};
};

/** The texts in the page's language, by key. */
export const words = block("words");

/** The data that the server put into the page. */
export const data = block("data");

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** The service did not answer, or something else answered. */
export class NoAnswer extends Error {}

/**
 * Send a request. Resolves to `{status, json, text}`; goes to the login page when a login is required.
 */
export async function ask(method, path, body) {
  const headers = { "Accept-Language": document.documentElement.lang };
  // The browser sets the type of a form, with its boundary.
  const form = body instanceof FormData;
  if (body !== undefined && !form) headers["Content-Type"] = "application/json";
  let answer;
  try {
    const text = body === undefined || form || typeof body === "string" ? body : JSON.stringify(body);
    answer = await fetch(path, { method, headers, body: text, cache: "no-store" });
  } catch {
    throw new NoAnswer();
  }
  if (answer.redirected && new URL(answer.url).pathname === "/login") {
    location.assign("/login?next=" + encodeURIComponent(location.pathname));
    throw new NoAnswer();
  }
  // A change needs the one-time code, until there is a login. On a phone its field is folded away.
  if (answer.status === 401 && $("#presence-code")) {
    $(".notices details").open = true;
    $("#presence-code").focus();
  }
  if (answer.status === 204) return { status: 204, json: {}, text: "" };
  try {
    const text = await answer.text();
    return { status: answer.status, json: JSON.parse(text), text };
  } catch {
    throw new NoAnswer();
  }
}

/** As `ask`; without an answer `{status: 0, json: null}`. */
export async function askOrNull(method, path, body) {
  try {
    return await ask(method, path, body);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { status: 0, json: null };
  }
}

const language = document.documentElement.lang;

/** A sum in hryvnias, as the server writes sums: `1 234,50`, `1,234.50`. */
export const money = (value) =>
  Number(value).toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 2, useGrouping: "always" });

const uk = language === "uk";
const clock = new Intl.DateTimeFormat("en-US", {
  timeZone: "Europe/Kyiv", hourCycle: "h23", year: "numeric", month: uk ? "2-digit" : "short", day: uk ? "2-digit" : "numeric",
  hour: "2-digit", minute: "2-digit", second: "2-digit",
});

/** A moment in milliseconds since 1970, as the server writes moments: `21.09.2026 09:00:00`, `21 Sep 2026 09:00:00`. */
export function moment(at) {
  const { day, month, year, hour, minute, second } = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${[day, month, year].join(uk ? "." : " ")} ${hour}:${minute}:${second}`;
}

/** A UUID; pages without https have no `crypto.randomUUID`. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** An element with text or children; text is never read as HTML. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "click") element.addEventListener("click", value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null && child !== ""));
  return element;
}

/** Open the dialog with this id; resolves to whether the person chose yes. */
export function sure(id) {
  const dialog = document.getElementById(id);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.returnValue = "no";
    dialog.showModal();
  });
}

/** Do `work` for a button; a second press while it runs does nothing. */
export async function once(button, work) {
  if (button.getAttribute("aria-busy") === "true") return undefined;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    button.removeAttribute("aria-busy");
  }
}

/** Let the page reload its live parts now instead of with the next event. */
export const lookAgain = () => document.dispatchEvent(new Event("look-again"));
