#!/usr/bin/env node
/* The compiler: `compile.js FILE.ts [--window NAME]...` prints the definition that FILE builds.
 *
 * On success two lines of JSON: the definition, and for every key and value of it in document order the line, column and
 * width of what the author wrote for it. A file with mistakes gives one line, [{line, column, width, message}], and exit
 * status 65; where something that is needed is not there, a message on standard error and 69.
 *
 * A definition is checked by TypeScript in its strict mode, then run in a context that has the SDK's names and nothing of
 * Node: no files, no network, no clock, no chance, so that it means the same on every compile. That context keeps
 * definitions honest; it is no wall against code that means harm. */
import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { createContext, runInContext } from "node:vm";
import type * as TypeScript from "typescript";
import { workflowsMade, WorkflowBuilder } from "./builder.js";
import * as sdk from "./index.js";
import { DefinitionError, locateWith, type Call } from "./place.js";
import { placesOf, type Place } from "./places.js";

const RUN_MS_MAX = 10_000;
const MISTAKE_COUNT_MAX = 1000;
const NODE_MAJOR_MIN = 18;
const EXIT_DATA = 65, EXIT_UNAVAILABLE = 69;
const PACKAGE = "maestro-sdk";

interface Mistake extends Place {
  readonly message: string;
}

class Mistakes extends Error {
  constructor(readonly all: readonly Mistake[]) {
    super(all[0]?.message);
  }
}

interface Request {
  readonly file: string;
  readonly windows: readonly string[];
}

function main(): void {
  const request = readArguments(process.argv.slice(2));
  if (Number(process.versions.node.split(".")[0]) < NODE_MAJOR_MIN)
    leave(EXIT_UNAVAILABLE, `Node.js ${process.versions.node} is too old: ${NODE_MAJOR_MIN} or later is needed`);
  const ts = loadTypeScript();
  try {
    const program = check(ts, request);
    const builder = new Run(ts, program, request).workflow();
    const definition = builder.toJSON();
    const places = placesOf(ts, definition, (file) => program.getSourceFile(file), request.file);
    process.stdout.write(`${JSON.stringify(definition)}\n${JSON.stringify(places)}\n`);
  } catch (error) {
    if (!(error instanceof Mistakes)) throw error;
    process.stdout.write(`${JSON.stringify(error.all.slice(0, MISTAKE_COUNT_MAX))}\n`);
    process.exitCode = EXIT_DATA;
  }
}

function leave(status: number, text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(status);
}

function readArguments(args: readonly string[]): Request {
  const files: string[] = [], windows: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--window") windows.push(args[++i] ?? "");
    else files.push(arg);
  }
  if (files.length !== 1) leave(2, "usage: compile.js FILE.ts [--window NAME]...");
  return { file: resolve(files[0] ?? ""), windows };
}

function loadTypeScript(): typeof TypeScript {
  try {
    return require("typescript") as typeof TypeScript;
  } catch {
    return leave(EXIT_UNAVAILABLE, `the package 'typescript' is missing: run 'npm ci' in ${dirname(__dirname)}`);
  }
}

/* --- what TypeScript says ------------------------------------------------------------------------------------------ */

/* A window set of the configuration is a name in definitions, where it can be one. */
function ambientText(ts: typeof TypeScript, windows: readonly string[]): string {
  const isName = (name: string) => /^[A-Za-z_$][\w$]*$/.test(name) && !isKeyword(ts, name) && !Object.hasOwn(sdk, name);
  const lines = windows.filter(isName).map((name) => `  const ${name}: ${JSON.stringify(name)};`);
  return `import ${JSON.stringify(join(__dirname, "ambient"))};\ndeclare global {\n${lines.join("\n")}\n}\nexport {};\n`;
}

function isKeyword(ts: typeof TypeScript, name: string): boolean {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, undefined, name);
  return scanner.scan() !== ts.SyntaxKind.Identifier;
}

function check(ts: typeof TypeScript, request: Request): TypeScript.Program {
  const options: TypeScript.CompilerOptions = {
    target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts"], types: [], strict: true, noEmit: true, skipLibCheck: true,
    module: ts.ModuleKind.CommonJS, moduleResolution: ts.ModuleResolutionKind.Node10, esModuleInterop: true,
    moduleDetection: ts.ModuleDetectionKind.Force, isolatedModules: true, allowImportingTsExtensions: true,
    paths: { [PACKAGE]: [join(__dirname, "index.d.ts")] },
  };
  const ambient = join(__dirname, "definition.ambient.d.ts"), text = ambientText(ts, request.windows);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host, getSourceFile = host.getSourceFile.bind(host);
  host.fileExists = (file) => file === ambient || fileExists(file);
  host.readFile = (file) => (file === ambient ? text : readFile(file));
  host.getSourceFile = (file, how, ...rest) =>
    file === ambient ? ts.createSourceFile(file, text, how) : getSourceFile(file, how, ...rest);
  const program = ts.createProgram([request.file, ambient], options, host);
  const found = ts.getPreEmitDiagnostics(program).filter((one) => one.category === ts.DiagnosticCategory.Error);
  if (found.length) throw new Mistakes(found.map((one) => mistakeOf(ts, one, request.file)));
  return program;
}

function mistakeOf(ts: typeof TypeScript, one: TypeScript.Diagnostic, main: string): Mistake {
  const message = `${ts.flattenDiagnosticMessageText(one.messageText, "; ")} (TS${one.code})`.replace(/\s+/g, " ");
  if (!one.file || one.start === undefined) return { line: 0, column: 0, width: 0, message };
  const { line, character } = one.file.getLineAndCharacterOfPosition(one.start);
  return mistakeAt(one.file.fileName, line + 1, character + 1, one.length ?? 1, message, main);
}

/* A mistake in a file that the definition imports is told with its name, since the lines shown are the definition's. */
function mistakeAt(file: string, line: number, column: number, width: number, message: string, main: string): Mistake {
  if (resolve(file) === main) return { line, column, width, message };
  return { line: 0, column: 0, width: 0, message: `${relative(dirname(main), file)}:${line}:${column}: ${message}` };
}

/* --- what the definition builds ------------------------------------------------------------------------------------ */

class Run {
  private readonly maps = new Map<string, SourceMap>();
  private readonly loaded = new Map<string, { exports: { [name: string]: unknown } }>();
  private readonly names: { [name: string]: unknown } = { ...sdk };

  constructor(private readonly ts: typeof TypeScript, private readonly program: TypeScript.Program,
              private readonly request: Request) {
    for (const window of request.windows) if (!Object.hasOwn(this.names, window)) this.names[window] = window;
    createContext(this.names, { codeGeneration: { strings: false, wasm: false } });
    runInContext(`for (const [owner, name] of [[globalThis, "Date"], [Math, "random"]])
      Object.defineProperty(owner, name, { get() {
        throw new Error("a definition is the same on every compile: it has no " + name); } });`, this.names);
  }

  /** The workflow that is exported as default, or the only one that was made. */
  workflow(): WorkflowBuilder {
    const exported = this.guarded(() => this.load(this.request.file)["default"]);
    if (exported instanceof WorkflowBuilder) return exported;
    const all = workflowsMade(), [first] = all;
    if (first && all.length === 1) return first;
    const message = first
      ? `${all.length} workflows are made (${all.map((one) => one.name).join(", ")}): export default the one that is meant`
      : "no workflow is made: call workflow(\"name\") and say what it does";
    throw new Mistakes([{ line: 0, column: 0, width: 0, message }]);
  }

  private guarded<T>(work: () => T): T {
    locateWith(() => this.callNow());
    try {
      return work();
    } catch (error) {
      throw new Mistakes([this.mistake(error)]);
    } finally {
      locateWith(undefined);
    }
  }

  private load(file: string): { [name: string]: unknown } {
    const known = this.loaded.get(file);
    if (known) return known.exports;
    const module = { exports: {} as { [name: string]: unknown } };
    this.loaded.set(file, module);
    const { outputText, sourceMapText } = this.ts.transpileModule(readFileSync(file, "utf8"), {
      fileName: file,
      compilerOptions: {
        target: this.ts.ScriptTarget.ES2022, module: this.ts.ModuleKind.CommonJS, esModuleInterop: true,
        moduleDetection: this.ts.ModuleDetectionKind.Force, sourceMap: true,
      },
    });
    this.maps.set(file, new SourceMap(JSON.parse(sourceMapText ?? "{}") as SourceMapPayload));
    const wrapped = runInContext(`${WRAPPER}${outputText}\n})`, this.names,
                                 { filename: file }) as (...values: unknown[]) => void;
    /* Called by a script, since only scripts have a time limit. */
    this.names["%run"] = () => wrapped(module.exports, (name: string) => this.required(file, name), module);
    runInContext("globalThis['%run']()", this.names, { timeout: RUN_MS_MAX });
    return module.exports;
  }

  private required(from: string, name: string): unknown {
    if (name === PACKAGE) return sdk;
    const source = this.ts.resolveModuleName(name, from, this.program.getCompilerOptions(), this.ts.sys).resolvedModule;
    if (name.startsWith(".") && source && source.extension === ".ts") return this.load(source.resolvedFileName);
    throw new DefinitionError(`'${name}' cannot be imported: a definition may import '${PACKAGE}' and other .ts files`);
  }

  /* The nearest call on the stack that stands in a definition. */
  private callNow(): Call | undefined {
    const holder: { stack?: Call | undefined } = {};
    const limit = Error.stackTraceLimit, prepare = Error.prepareStackTrace as NonNullable<typeof Error.prepareStackTrace>;
    Error.stackTraceLimit = 50;
    Error.prepareStackTrace = (_, sites) => this.callOf(sites);
    Error.captureStackTrace(holder);
    const call = holder.stack;
    Error.prepareStackTrace = prepare;
    Error.stackTraceLimit = limit;
    return call;
  }

  private callOf(sites: readonly NodeJS.CallSite[]): Call | undefined {
    for (const site of sites) {
      const file = site.getFileName(), map = file ? this.maps.get(file) : undefined;
      const line = site.getLineNumber(), column = site.getColumnNumber();
      if (file && map && line && column) return original(file, map, line, column);
    }
    return undefined;
  }

  /* What was thrown may come from the other context, and be no Error of ours. */
  private mistake(error: unknown): Mistake {
    const thrown = (typeof error === "object" && error !== null ? error : { message: String(error) }) as Partial<Error>;
    const isOurs = error instanceof DefinitionError;
    const call = isOurs ? error.call : this.callOfStack(thrown.stack ?? "");
    const isLate = (thrown as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    const text = isLate ? `the definition is not built after ${RUN_MS_MAX / 1000} s` : String(thrown.message);
    const message = isOurs || isLate ? text : `${thrown.name ?? "Error"}: ${text}`;
    if (!call) return { line: 0, column: 0, width: 0, message };
    return mistakeAt(call.file, call.line, call.column, 1, message, this.request.file);
  }

  private callOfStack(stack: string): Call | undefined {
    for (const line of stack.split("\n").filter((one) => one.startsWith("    at "))) {
      for (const [file, map] of this.maps) {
        const at = line.indexOf(`${file}:`), found = at < 0 ? null : /^:(\d+):(\d+)/.exec(line.slice(at + file.length));
        if (found) return original(file, map, Number(found[1]), Number(found[2]));
      }
    }
    return undefined;
  }
}

/* The wrapper stands before the first line of the program alone. */
const WRAPPER = "(function (exports, require, module) {";

function original(file: string, map: SourceMap, line: number, column: number): Call {
  const entry = map.findEntry(line - 1, column - 1 - (line === 1 ? WRAPPER.length : 0));
  if (!("originalLine" in entry)) return { file, line, column };
  return { file, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

main();
