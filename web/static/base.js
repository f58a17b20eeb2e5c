// What every script of the pages shares: words, requests to the service, small pieces of page.

const block = (id) => {
  const found = document.getElementById(id);
  return found ? JSON.parse(found.textContent) : {};
};

/** The words of the page's language, by key. */
export const words = block("words");

/** What the server gave the page to work with. */
export const data = block("data");

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** The service could not be asked, or what answered was not the service. */
export class NoAnswer extends Error {}

/**
 * Ask the service. Resolves to `{status, json, text}`; whoever has to log in first is taken to the login page.
 */
export async function ask(method, path, body) {
  const headers = { "Accept-Language": document.documentElement.lang };
  // A form names its own type, with the mark between its parts.
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

/** A name that nobody else gives: made here, because pages without https have no `crypto.randomUUID`. */
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

/** Ask the person by the dialog with this id; resolves to whether the answer was yes. */
export function sure(id) {
  const dialog = document.getElementById(id);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.returnValue = "no";
    dialog.showModal();
  });
}

/** Do `work` once at a time for a button: a second press while it runs does nothing. */
export async function once(button, work) {
  if (button.getAttribute("aria-busy") === "true") return undefined;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    button.removeAttribute("aria-busy");
  }
}

/** Let pages look anew at what the server knows, at once instead of with the next event. */
export const lookAgain = () => document.dispatchEvent(new Event("look-again"));
