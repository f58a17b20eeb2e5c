// The interface for programs, from its OpenAPI document: groups of paths, their members, examples to try.

import { $, $$, ask, data, make, NoAnswer } from "./base.js";

const place = $("#interface");

/** The English `text` of the document in the language of the page. */
const told = (text) => data.texts[text] ?? text ?? "";

/** What a text says first, as summaries of the document do. */
const brief = (text) => told(text).split(". ")[0].split("; ")[0].replace(/\.$/, "");

const nameOf = (reference) => reference.split("/").pop();

/** The text, with `back ticks` as code. */
function prose(text) {
  return told(text).split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

/** The type of a schema's value, in a word or two. */
function kindOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(", ");
  if (schema.anyOf) return schema.anyOf.filter((each) => each.type !== "null").map(kindOf).join(", ");
  if (schema.items) return `${kindOf(schema.items)}[]`;
  return [].concat(schema.type ?? "").filter((each) => each !== "null").join(", ");
}

function rowsOf(schema, before = "") {
  const needed = schema.required ?? [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, before + name)),
      make("td", { "data-label": data.meaning }, ...prose(member.description), needed.includes(name) ? make("em", {}, ` (${data.required})`) : ""),
      make("td", { "data-label": data.type }, make("code", {}, kindOf(member))),
    ),
    ...(member.properties ? rowsOf(member, `${before}${name}.`) : []),
  ]);
}

function table(schema) {
  const rows = rowsOf(schema);
  if (!rows.length) return "";
  const head = [data.member, data.meaning, data.type].map((title) => make("th", { scope: "col" }, title));
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": data.member },
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
  );
}

const pretty = (value) => make("pre", { class: "code", tabindex: "0" }, JSON.stringify(value, null, 2));

function folded(title, ...content) {
  return make("details", {}, make("summary", {}, ...[].concat(title)), ...content.filter((each) => each !== ""));
}

/** The same, to be found by what is in `finds`. */
function entry(finds, title, ...content) {
  const made = folded(title, ...content);
  made.dataset.find = finds.join(" ").toLowerCase();
  return made;
}

/** One example: the members of its request, the request, its answer, and a link to the console. */
function exampleOf(path, name, example, answered, schemas) {
  const asked = "Ask" + name.split("-").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  const hash = encodeURIComponent(JSON.stringify({ path, body: example.value }));
  const task = example.value.fiscal?.task ?? example.value.pay?.task;
  return entry(
    [name, told(example.summary), example.summary, task === undefined ? "" : `task ${task}`],
    told(example.summary),
    table(schemas[asked]),
    make("p", {}, make("a", { href: `/dm/main/console#${hash}` }, data.try_it)),
    make("h3", {}, data.request),
    pretty(example.value),
    make("h3", {}, data.answer),
    pretty(answered.value),
  );
}

function operationOf(path, method, operation, schemas) {
  const parts = [make("p", {}, ...prose(operation.description))];
  const json = operation.requestBody?.content["application/json"];
  const query = { properties: {}, required: [] };
  for (const each of operation.parameters ?? []) {
    query.properties[each.name] = { ...each.schema, description: each.description };
    if (each.required) query.required.push(each.name);
  }
  if (operation.parameters) parts.push(table(query));
  const answers = operation.responses[200]?.content?.["application/json"]?.examples ?? {};
  if (json?.examples) {
    for (const [name, example] of Object.entries(json.examples)) {
      parts.push(exampleOf(path, name, example, answers[name], schemas));
    }
  } else if (json?.schema.$ref) {
    parts.push(table(schemas[nameOf(json.schema.$ref)]));
    if (json.example) parts.push(pretty(json.example));
  }
  const statuses = Object.entries(operation.responses).map(([status, { description, content }]) => {
    const schema = content?.["application/json"]?.schema;
    return make("li", {}, make("strong", {}, status), ` ${description} `, schema ? make("code", {}, kindOf(schema)) : "");
  });
  parts.push(folded(data.statuses, make("ul", {}, ...statuses)));
  const title = [
    make("span", { class: `method ${method}` }, method.toUpperCase()), " ", make("code", {}, path), " ",
    make("span", {}, ...prose(brief(operation.description))),
  ];
  return entry([method, path, told(operation.description), operation.summary], title, ...parts);
}

function groupOf(tag, document) {
  const found = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => operation.tags.includes(tag.name))
      .map(([method, operation]) => operationOf(path, method, operation, document.components.schemas)),
  );
  return make("section", { class: "card" }, make("h2", {}, told(tag.name)), make("p", {}, told(tag.description)), ...found);
}

function codesOf(catalogue) {
  const lines = Object.entries(catalogue).map(([code, { text }]) =>
    make("li", { "data-find": `${code} ${text}`.toLowerCase() }, make("a", { href: `/dm/main/codes?q=${code}` }, code), ` ${text}`),
  );
  return make("section", { class: "card", id: "codes", hidden: true }, make("h2", {}, data.codes), make("ul", {}, ...lines));
}

function schemasOf(schemas) {
  const shown = Object.entries(schemas).filter(([, schema]) => schema.properties);
  const parts = shown.map(([name, schema]) =>
    folded(make("code", {}, name), make("p", {}, ...prose(schema.description)), table(schema)),
  );
  return make("section", { class: "card" }, make("h2", {}, data.shapes), ...parts);
}

/** Show what has all words of the search, with what stands above it. */
function search() {
  const wanted = $("#search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (each) => wanted.every((word) => each.dataset.find.includes(word));
  let found = 0;
  for (const each of $$("[data-find]", place)) {
    const above = each.parentElement.closest("[data-find]");
    const here = fits(each) || (above !== null && fits(above));
    each.hidden = !here && !$$("[data-find]", each).some(fits);
    if (each.tagName === "DETAILS" && above === null) each.open = wanted.length > 0 && !fits(each) && !each.hidden;
    if (wanted.length && fits(each)) found += 1;
  }
  for (const group of $$("section", place)) {
    const parts = $$("[data-find]", group);
    group.hidden = parts.length ? parts.every((each) => each.hidden) : wanted.length > 0;
  }
  // All codes at once are a page of their own.
  if (!wanted.length) $("#codes").hidden = true;
  $("#found").textContent = wanted.length ? `${data.found}: ${found}` : "";
}

try {
  const { json: document } = await ask("GET", "/dm/api/v3/openapi.json");
  const { json: catalogue } = await ask("GET", "/dm/main/codes.json");
  const groups = document.tags.filter((tag) => tag.name !== "pages").map((tag) => groupOf(tag, document));
  place.replaceChildren(...groups, codesOf(catalogue), schemasOf(document.components.schemas));
  $("#search").addEventListener("input", search);
  $("#search").value = new URLSearchParams(location.search).get("q") ?? "";
  search();
} catch (error) {
  if (!(error instanceof NoAnswer)) throw error;
  place.replaceChildren(make("p", {}, data.not_loaded));
}
