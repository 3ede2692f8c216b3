/* Where an author wrote a value: the call of a builder's method, and which of its arguments.
 *
 * Only the compiler can say where a call stands; it sets `locate` before it runs a definition. Without it nothing is
 * recorded, and builders work all the same. */

/** A call in the source of a definition. */
export interface Call {
  readonly file: string;
  /** Both from 1, in the program that runs. */
  readonly line: number;
  readonly column: number;
}
/** What a key has to do with an argument: it is given by it, is a member of it, or is itself the argument. */
export type Relation = "value" | "member" | "key";
export interface Origin {
  readonly call: Call;
  readonly argument: number;
  readonly relation: Relation;
}

let locate: (() => Call | undefined) | undefined;
const origins = new WeakMap<object, Map<string, Origin>>();

export function locateWith(how: typeof locate): void {
  locate = how;
}

export function callHere(): Call | undefined {
  return locate?.();
}

export function originOf(owner: object, key: string): Origin | undefined {
  return origins.get(owner)?.get(key);
}

export function remember(owner: object, key: string, argument: number, relation: Relation): void {
  const call = callHere();
  if (!call) return;
  const known = origins.get(owner) ?? new Map<string, Origin>();
  origins.set(owner, known.set(key, { call, argument, relation }));
}

/** A definition that cannot be built, with the call that asked for it. */
export class DefinitionError extends Error {
  constructor(message: string, readonly call: Call | undefined = callHere()) {
    super(message);
    this.name = "DefinitionError";
  }
}
