// The interface for programs, from its OpenAPI document: groups of paths, their members, examples to try.

import { $, ask, data, make, NoAnswer } from "./base.js";

const place = $("#interface");

const nameOf = (reference) => reference.split("/").pop();

/** The text, with `back ticks` as code. */
function prose(text) {
  return (text ?? "").split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
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
      make("td", {}, ...prose(member.description), needed.includes(name) ? make("em", {}, ` (${data.required})`) : ""),
      make("td", {}, make("code", {}, kindOf(member))),
    ),
    ...(member.properties ? rowsOf(member, `${before}${name}.`) : []),
  ]);
}

function table(schema) {
  const head = [data.member, data.meaning, data.type].map((title) => make("th", { scope: "col" }, title));
  return make(
    "div",
    { class: "wide", tabindex: "0" },
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rowsOf(schema))),
  );
}

const pretty = (value) => make("pre", { class: "code", tabindex: "0" }, JSON.stringify(value, null, 2));

function folded(title, ...content) {
  return make("details", {}, make("summary", {}, ...[].concat(title)), ...content);
}

/** One example: the members of its request, the request, its answer, and a link to the console. */
function exampleOf(path, name, example, answered, schemas) {
  const asked = "Ask" + name.split("-").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  const hash = encodeURIComponent(JSON.stringify({ path, body: example.value }));
  return folded(
    example.summary,
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
  const title = [make("code", {}, `${method.toUpperCase()} ${path}`), ` ${operation.summary}`];
  return folded(title, ...parts);
}

function groupOf(tag, document) {
  const found = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => operation.tags.includes(tag.name))
      .map(([method, operation]) => operationOf(path, method, operation, document.components.schemas)),
  );
  return make("section", { class: "card" }, make("h2", {}, tag.name), make("p", {}, tag.description), ...found);
}

function schemasOf(schemas) {
  const shown = Object.entries(schemas).filter(([, schema]) => schema.properties);
  const parts = shown.map(([name, schema]) =>
    folded(make("code", {}, name), make("p", {}, ...prose(schema.description)), table(schema)),
  );
  return make("section", { class: "card" }, make("h2", {}, "schemas"), ...parts);
}

try {
  const { json: document } = await ask("GET", "/dm/api/v3/openapi.json");
  const groups = document.tags.map((tag) => groupOf(tag, document));
  place.replaceChildren(...groups, schemasOf(document.components.schemas));
} catch (error) {
  if (!(error instanceof NoAnswer)) throw error;
  place.replaceChildren(make("p", {}, data.not_loaded));
}
