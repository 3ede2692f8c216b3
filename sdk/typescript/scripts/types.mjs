/* Writes src/definition.ts out of spec/definition.schema.json: a type for every part of a workflow, and the table by which
 * keys in camel case become those of the definition. `--check` compares instead of writing. The schema may be named. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const OUT = fileURLToPath(new URL("../src/definition.ts", import.meta.url));
const SCHEMA = fileURLToPath(new URL("../../../spec/definition.schema.json", import.meta.url));
const LINE_SIZE_MAX = 116;

/* Patterns that TypeScript can hold a text against. */
const NAMED_PATTERNS = {
  "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$": "Duration",
  "^[1-9][0-9]*/(ms|s|m|h|d)$": "Rate",
};
/* Properties whose text is a condition: the schema knows them as a text or a boolean only. */
const CONDITIONS = new Set(["when", "if", "select", "condition", "resume_when"]);

const HEAD = `/* Written by scripts/types.mjs out of spec/definition.schema.json; change that instead.
 *
 * Every part of a workflow, with its keys in camel case, and the table that turns them into the keys of a definition. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Unit = "ms" | "s" | "m" | "h" | "d";
/** \`500ms\`, \`30s\`, \`5m\`, \`48h\`, \`7d\`, joined from large to small as \`1h30m\`. */
export type Duration = \`\${number}\${Unit}\` | \`\${number}\${Unit}\${number}\${string}\`;
/** A count in a time: \`50/s\`. */
export type Rate = \`\${number}/\${Unit}\`;
/** A Rego expression over params, outputs, output, payload, run and poll. */
export type Expression = string | boolean;
`;

const pascal = (name) => name.replace(/(^|-)([a-z0-9])/g, (_, __, letter) => letter.toUpperCase());
const camel = (key) => key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
const refName = (schema) => schema.$ref.split("/").pop();
const unique = (items) => [...new Set(items)];

/* A word that has a second spelling (AUTO_RETRY, FailWorkflow) is offered once. */
function words(values) {
  const seen = new Set();
  return values.filter((value) => {
    const plain = String(value).replaceAll("_", "").toLowerCase();
    return !seen.has(plain) && seen.add(plain);
  });
}

function typeOf(schema, key) {
  if (schema.$ref) return pascal(refName(schema));
  if (schema.enum) return words(schema.enum).map((word) => JSON.stringify(word)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.anyOf) return unique(schema.anyOf.map((one) => typeOf(one, key))).join(" | ");
  if (Array.isArray(schema.type)) {
    if (CONDITIONS.has(key)) return "Expression";
    return schema.type.map((type) => typeOf({ type }, key)).join(" | ");
  }
  switch (schema.type) {
    case "array": return listOf(typeOf(schema.items, key));
    case "string": return NAMED_PATTERNS[schema.pattern] ?? "string";
    case "integer": case "number": return "number";
    case "boolean": return "boolean";
    case "object": {
      const inner = schema.additionalProperties ? typeOf(schema.additionalProperties, key) : "Json";
      return `{ readonly [key: string]: ${inner} }`;
    }
    case undefined: return "Json";
    default: throw new Error(`the schema has the type ${schema.type}, which this script does not know`);
  }
}

function listOf(item) {
  return item.includes(" | ") ? `readonly (${item})[]` : `readonly ${item}[]`;
}

/* The part whose keys a value has, behind lists and alternatives; undefined for values that are taken as they are. */
function partOf(schema) {
  if (schema.$ref) return JSON.stringify(refName(schema));
  if (schema.anyOf) return schema.anyOf.map(partOf).find(Boolean);
  if (schema.type === "array") return partOf(schema.items);
  const inner = schema.type === "object" && schema.additionalProperties ? partOf(schema.additionalProperties) : undefined;
  return inner && `{ each: ${inner} }`;
}

function requiredOf(part) {
  return new Set((part.allOf ?? []).flatMap((rule) => rule.required ?? []));
}

/* What a workflow is made of, itself included: runbooks are written as YAML. */
function reachable(parts, name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, ref] of JSON.stringify(parts[name]).matchAll(/"#\/\$defs\/([a-z0-9-]+)"/g)) reachable(parts, ref, found);
  return found;
}

function property(key, schema, isRequired) {
  const line = `  readonly ${camel(key)}${isRequired ? "" : "?"}: ${typeOf(schema, key)};`;
  const comment = schema.description ? `  /** ${schema.description} */\n` : "";
  if (line.length <= LINE_SIZE_MAX) return comment + line;
  return comment + line.replace(": ", ":\n    ");
}

function generate(schema) {
  const parts = schema.$defs;
  const names = [...reachable(parts, "workflow")].sort();
  const types = names.map((name) => {
    const part = parts[name], required = requiredOf(part);
    const lines = Object.entries(part.properties).map(([key, value]) => property(key, value, required.has(key)));
    return `/** ${part.description} */\nexport interface ${pascal(name)} {\n${lines.join("\n")}\n}\n`;
  });
  const rows = names.map((name) => {
    const cells = Object.entries(parts[name].properties)
      .map(([key, value]) => [key, partOf(value)])
      .filter(([key, part]) => part || camel(key) !== key)
      .map(([key, part]) => `    ${camel(key)}: { key: ${JSON.stringify(key)}${part ? `, part: ${part}` : ""} },\n`);
    return `  ${JSON.stringify(name)}: {${cells.length ? `\n${cells.join("")}  ` : ""}},\n`;
  });
  const table = `/* Keys that are written in another way, and values that have keys themselves. */
export type Part = string | { readonly each: Part };
export const parts: Readonly<Record<string, Readonly<Record<string, { readonly key: string; readonly part?: Part }>>>> = {
${rows.join("")}};
`;
  return [HEAD, ...types, table].join("\n");
}

const options = process.argv.slice(2);
const text = generate(JSON.parse(readFileSync(options.find((one) => !one.startsWith("-")) ?? SCHEMA, "utf8")));
if (!options.includes("--check")) {
  writeFileSync(OUT, text);
} else if (readFileSync(OUT, "utf8") !== text) {
  console.error("src/definition.ts is not what the schema says: npm run types writes it");
  process.exitCode = 1;
}
