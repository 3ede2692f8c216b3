/* A part of a definition while it is built: keys in camel case come in, keys of the definition are kept.
 *
 * What must be true of the values is not known here: the types say it to authors, and `maestro validate` has the last
 * word. Only what a JSON document cannot hold is refused. */
import { parts, type Part } from "./definition.js";
import { DefinitionError, remember, type Relation } from "./place.js";

const DEPTH_MAX = 128;
const finished = new WeakSet<object>();

export class Body {
  readonly value: { [key: string]: unknown } = {};

  constructor(private readonly part: string) {
    finished.add(this.value);
  }

  /** The value of a key, said once; `argument` is the number of the argument it came in. */
  set(name: string, value: unknown, argument = 0, relation: Relation = "value"): void {
    const { key, part } = this.row(name);
    if (value === undefined) return;
    if (Object.hasOwn(this.value, key)) throw new DefinitionError(`'${name}' is already set`);
    define(this.value, key, convert(value, part));
    remember(this.value, key, argument, relation);
  }

  /** Several keys at once, out of one argument. */
  setAll(values: object | undefined, argument = 0): void {
    for (const [name, value] of Object.entries(values ?? {})) this.set(name, value, argument, "member");
  }

  /** One more item of a list. */
  add(name: string, value: unknown, argument = 0): void {
    const { key, part } = this.row(name);
    const before = this.value[key];
    const list = before === undefined ? [] : Array.isArray(before) ? before : [before];
    remember(list, String(list.length), argument, "value");
    list.push(convert(value, part));
    this.value[key] = list;
    if (before === undefined) remember(this.value, key, argument, "value");
  }

  /** One more entry of a mapping, whose key is the first argument. */
  enter(name: string, entry: string, value: unknown): void {
    const { key, part } = this.row(name);
    const map = (this.value[key] ?? {}) as { [key: string]: unknown };
    if (Object.hasOwn(map, entry)) throw new DefinitionError(`'${entry}' stands twice in '${name}'`);
    define(map, entry, convert(value, typeof part === "object" ? part.each : part));
    remember(map, entry, 0, "key");
    if (!this.value[key]) remember(this.value, key, 0, "value");
    this.value[key] = map;
  }

  private row(name: string): { readonly key: string; readonly part?: Part } {
    const rows = parts[this.part] ?? {}, row = Object.hasOwn(rows, name) ? rows[name] : undefined;
    return row ?? { key: name };
  }
}

/* Also a key such as __proto__ is a key. */
function define(owner: object, key: string, value: unknown): void {
  Object.defineProperty(owner, key, { value, enumerable: true, writable: true, configurable: true });
}

function convert(value: unknown, part: Part | undefined, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new DefinitionError(`a value nests deeper than ${DEPTH_MAX} levels, or holds itself`);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value !== "object") throw new DefinitionError(`a definition is JSON, and ${String(value)} is none`);
  if (finished.has(value)) return value;
  if (Array.isArray(value)) return value.map((item) => convert(item, part, depth + 1));
  const out = {};
  const rows = typeof part === "string" ? parts[part] : undefined;
  const each = typeof part === "object" ? part.each : undefined;
  for (const [name, inner] of Object.entries(value)) {
    const row = rows && Object.hasOwn(rows, name) ? rows[name] : undefined;
    if (inner !== undefined) define(out, row?.key ?? name, convert(inner, row?.part ?? each, depth + 1));
  }
  return out;
}
