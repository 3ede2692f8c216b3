/* Where everything in a definition was written, found in the syntax tree of its source.
 *
 * A builder remembers the call and the argument that a value came in. From there the value and the literal are followed
 * side by side; what is no literal (a variable, a call) is placed where it stands, with all that is in it. */
import type * as TypeScript from "typescript";
import { originOf, type Call } from "./place.js";

/** A line of 0 stands for the file as a whole. */
export interface Place {
  readonly line: number;
  readonly column: number;
  readonly width: number;
}

type Compiler = typeof TypeScript;
type Files = (file: string) => TypeScript.SourceFile | undefined;
interface Spot {
  readonly place: Place;
  /** The expression of a value, where it is known. */
  readonly node?: TypeScript.Node | undefined;
}

/** Line, column and width of each node in document order: a value, and before the value of a member its key. */
export function placesOf(ts: Compiler, definition: object, files: Files, main: string): readonly number[] {
  return new Walk(ts, files, main).places(definition);
}

class Walk {
  private readonly out: number[] = [];
  private readonly calls = new Map<string, Map<number, TypeScript.CallExpression>>();

  constructor(private readonly ts: Compiler, private readonly files: Files, private readonly main: string) {}

  places(definition: object): readonly number[] {
    this.value(definition, { place: { line: 1, column: 1, width: 1 } });
    return this.out;
  }

  private put(place: Place): void {
    this.out.push(place.line, place.column, place.width);
  }

  private value(value: unknown, spot: Spot): void {
    this.put(spot.place);
    if (typeof value !== "object" || value === null) return;
    const isList = Array.isArray(value);
    for (const [key, inner] of Object.entries(value)) {
      const said = this.said(value, key, spot);
      if (!isList) this.put(said.key);
      this.value(inner, said.value);
    }
  }

  private said(owner: object, key: string, above: Spot): { readonly key: Place; readonly value: Spot } {
    const origin = originOf(owner, key);
    if (!origin) return this.inside(above, key);
    const call = this.callAt(origin.call);
    if (!call) return { key: above.place, value: { place: above.place } };
    const argument = call.arguments[origin.argument], name = this.placeOf(calleeName(this.ts, call));
    if (!argument) return { key: name, value: { place: name } };
    const spot = this.spotOf(argument);
    if (origin.relation === "member") return this.inside(spot, key);
    return { key: origin.relation === "key" ? spot.place : name, value: spot };
  }

  private inside(above: Spot, key: string): { readonly key: Place; readonly value: Spot } {
    const found = above.node && this.member(above.node, key);
    if (!found) return { key: above.place, value: { place: above.place } };
    return { key: this.placeOf(found.name), value: this.spotOf(found.value) };
  }

  private member(node: TypeScript.Node, key: string): { name: TypeScript.Node; value: TypeScript.Node } | undefined {
    const { ts } = this;
    if (ts.isArrayLiteralExpression(node)) {
      const item = node.elements[Number(key)];
      return item && { name: item, value: item };
    }
    if (!ts.isObjectLiteralExpression(node)) return undefined;
    for (const one of node.properties) {
      const name = one.name && (ts.isIdentifier(one.name) || ts.isStringLiteral(one.name)) ? one.name : undefined;
      if (!name || plain(name.text) !== plain(key)) continue;
      return { name, value: ts.isPropertyAssignment(one) ? one.initializer : name };
    }
    return undefined;
  }

  private spotOf(node: TypeScript.Node): Spot {
    return { place: this.placeOf(node), node };
  }

  /* Columns are counted in characters. What an imported file says has no place in the definition. */
  private placeOf(node: TypeScript.Node): Place {
    const source = node.getSourceFile(), start = node.getStart(source);
    if (source.fileName !== this.main) return { line: 0, column: 0, width: 0 };
    const { line } = source.getLineAndCharacterOfPosition(start);
    const begin = source.getPositionOfLineAndCharacter(line, 0);
    const end = source.text.indexOf("\n", start), stop = Math.min(node.getEnd(), end < 0 ? source.text.length : end);
    const count = (from: number, to: number) => [...source.text.slice(from, to)].length;
    return { line: line + 1, column: count(begin, start) + 1, width: count(start, stop) };
  }

  private callAt(call: Call): TypeScript.CallExpression | undefined {
    const source = this.files(call.file);
    if (!source) return undefined;
    let known = this.calls.get(call.file);
    if (!known) this.calls.set(call.file, (known = callsOf(this.ts, source)));
    return known.get(source.getPositionOfLineAndCharacter(call.line - 1, call.column - 1));
  }
}

const plain = (key: string) => key.replaceAll("_", "").toLowerCase();

function calleeName(ts: Compiler, call: TypeScript.CallExpression): TypeScript.Node {
  return ts.isPropertyAccessExpression(call.expression) ? call.expression.name : call.expression;
}

/* A program reports a call at its name; of a name that is a word of the language (`with`), behind it. */
function callsOf(ts: Compiler, source: TypeScript.SourceFile): Map<number, TypeScript.CallExpression> {
  const found = new Map<number, TypeScript.CallExpression>();
  const visit = (node: TypeScript.Node): void => {
    if (ts.isCallExpression(node)) {
      const name = calleeName(ts, node);
      found.set(name.getStart(source), node).set(name.getEnd(), node);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
