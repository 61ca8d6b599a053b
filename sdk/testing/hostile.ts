import type { Schema } from "../config.ts";
import { svcError } from "../errors.ts";
import { tierFailure } from "../failure.ts";
import type { GuardedFetch } from "../fetch.ts";
import type { Files } from "../files.ts";
import type { ModelEvent, Models } from "../models.ts";
import type { Child, Spawn } from "../processes.ts";
import type { Render } from "../render.ts";
import type { Op, Store } from "../store.ts";
import { onAbort } from "../time.ts";
import { workingStore } from "../working-store.ts";
import { checkSchema } from "./check-schema.ts";
import type { FakeOptions } from "./fake-context.ts";
import { answeringSockets } from "./fake-sockets.ts";
import { createMemoryFiles } from "./memory-files.ts";
import { createMemoryStore } from "./memory-store.ts";

/** Words as strangers, models and broken programs send them. */
export const hostileTexts: Readonly<Record<string, string>> = {
  "no text": "",
  "white space": " \t\n ",
  "control signs": "a\0b\r\nc\u001b[2J\u0007",
  "half a character": "\ud83d tail \udc00",
  "text that runs backwards": "\u202egnp.exe\u202c\u2066\u200b",
  "names of every object": "__proto__ constructor toString",
  "a way out of a folder": "../../../../etc/passwd",
  "shell signs": `$(id) \`id\` '; id #" && id | id`,
  placeholders: "{{x}} $" + "{HOME} %s %n {0}",
  markup: `<script>alert(1)</script> & **_\`[x](javascript:1)`,
  "an address of this machine": "http://127.0.0.1:1/%00?a=b",
  "open fences": "```\n".repeat(500),
  "deep JSON": "[".repeat(50_000),
  "a very long text": "long ".repeat(40_000),
};

/** Misbehaviour of a far end. Not the plugin's fault, but the plugin has to handle it. */
export interface FarEnd {
  readonly name: string;
  readonly fake: () => Omit<FakeOptions<never>, "config">;
}

const broken = (): never => {
  throw new Error("the far end is broken");
};

/** Rejects when the signal aborts, else never ends. */
const hang = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    onAbort(signal, reject);
  });

const render: Render = {
  split: (markdown, limit) => Array.from({ length: Math.ceil(markdown.length / limit) }, (_, at) => markdown.slice(at * limit, (at + 1) * limit)),
  to: (_dialect, markdown) => markdown,
};

function fetchOf(status: number, text: string): GuardedFetch {
  return async (url, { maxBytes = 1_048_576 } = {}) => {
    const whole = new TextEncoder().encode(text);
    const body = whole.subarray(0, maxBytes);
    return { status, statusText: "", headers: {}, body, text: () => new TextDecoder().decode(body), truncated: body.length < whole.length, url };
  };
}

/** A program that says `text` and ends with `code`, or runs until it is stopped. */
function spawnOf(text: string, code: number, endless = false): Spawn {
  return (_command, _args, { onLine, signal }) => {
    let end: (reason?: "aborted") => void = () => {};
    const ended: Child["ended"] = new Promise((resolve) => {
      end = (reason) =>
        resolve({ code: reason === undefined ? code : null, signal: null, stdout: text, stderr: "", truncated: false, ...(reason ? { reason } : {}) });
    });
    onAbort(signal, () => end("aborted"));
    if (!endless)
      queueMicrotask(() => {
        for (const line of text.split("\n")) onLine?.(line);
        end();
      });
    return {
      pid: 1,
      started: Promise.resolve(),
      ended,
      write: async () => {},
      closeStdin() {},
      async stop() {
        end("aborted");
      },
    };
  };
}

/** A store that can be read but rejects every write, as on a full disk. */
function fullStore(): Store {
  const store = createMemoryStore();
  const full = async (): Promise<never> => {
    throw svcError("SVC_STORE_FULL", "The disk is full.", { status: 507 });
  };
  return workingStore({
    collection: <T>(...given: Parameters<Store["collection"]>) => ({ ...store.collection<T>(...given), put: full }),
    queue: <T>(name: string) => ({ ...store.queue<T>(name), push: full, claim: full, release: full, extend: full }),
    journal: <T>(name: string) => ({ ...store.journal<T>(name), append: full }),
    commit: (ops: readonly Op[]) => (ops.some(({ op }) => op !== "delete" && op !== "complete") ? full() : store.commit(ops)),
  });
}

async function* failing(message: string): AsyncGenerator<ModelEvent> {
  yield tierFailure("network", message);
}

async function* silent(signal?: AbortSignal): AsyncGenerator<ModelEvent> {
  if (signal !== undefined) await hang(signal).catch(() => undefined);
}

const models = (extract: Models["extract"], stream: Models["stream"] = () => failing("there is no vendor here")): Models => ({
  extract,
  stream,
  usable: async () => ({ ok: true, detail: "a model" }),
});

function unreadable(failure: () => never): Files {
  const files = createMemoryFiles();
  const confined = new Proxy(files.own, { get: (own, member) => (member === "roots" ? own.roots : async () => failure()) });
  return { under: () => confined, own: confined, data: confined };
}

const base = { render, agents: [{ id: "assistant", mentions: ["assistant"] }, { id: "main" }] };
const answering =
  (status: number, text: string): FarEnd["fake"] =>
  () => ({
    ...base,
    fetch: fetchOf(status, text),
    sockets: answeringSockets(text),
    spawn: spawnOf(text, status === 200 ? 0 : 1),
    models: models(async () => ({})),
    files: createMemoryFiles(),
  });

/** The far ends against which a plugin is tried: everything it reaches through its context. */
export const farEnds: readonly FarEnd[] = [
  { name: "answers {}", fake: answering(200, "{}") },
  { name: "answers what nobody asked for", fake: answering(200, `\0<html>{"ok":"yes","__proto__":{"polluted":1}`) },
  { name: "answers null", fake: answering(200, "null") },
  { name: "refuses everything", fake: answering(403, `{"error":"no"}`) },
  { name: "is out of order", fake: answering(502, "Bad Gateway") },
  { name: "answers 4 MB", fake: answering(200, `{"text":"${"x".repeat(4 * 1024 * 1024)}"}`) },
  {
    name: "breaks every connection",
    fake: () => ({
      ...base,
      fetch: async () => broken(),
      sockets: { connect: async () => broken(), webSocket: async () => broken() },
      spawn: () => ({ ...spawnOf("", 1)("", [], { cwd: "/" }), started: unheard(Promise.reject(new Error("the program is not there"))) }),
      models: models(async () => broken()),
      files: unreadable(broken),
    }),
  },
  {
    name: "never answers",
    fake: () => ({
      ...base,
      fetch: (_url, { signal } = {}) => hang(signal),
      sockets: { connect: ({ signal }) => hang(signal), webSocket: (_url, { signal } = {}) => hang(signal) },
      spawn: spawnOf("", 1, true),
      models: models(
        ({ signal }) => hang(signal),
        ({ signal }) => silent(signal),
      ),
      files: createMemoryFiles(),
    }),
  },
  { name: "answers while nothing can be stored", fake: () => ({ ...answering(200, "{}")(), store: fullStore() }) },
];

function unheard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Returns a value that is valid under the schema and contains `text` wherever possible; undefined if none was found. */
export function fitting(schema: Schema, text: string): unknown {
  const value = build(schema, text);
  return value !== undefined && checkSchema(schema, value) === undefined ? value : undefined;
}

function build(schema: Schema, text: string): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  for (const one of schema.anyOf ?? schema.oneOf ?? []) {
    const value = build(one, text);
    if (value !== undefined) return value;
  }
  const type = typeof schema.type === "string" ? schema.type : (schema.type?.[0] ?? (schema.properties ? "object" : "string"));
  switch (type) {
    case "string": {
      const fits = [text, text.slice(0, schema.maxLength), "a", "https://127.0.0.1/a"].find((one) => checkSchema(schema, one) === undefined);
      return fits ?? schema.default;
    }
    case "number":
    case "integer":
      return schema.maximum ?? schema.minimum ?? 2 ** 31;
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () => build(schema.items ?? { type: "string" }, text));
    case "object": {
      const made: Record<string, unknown> = {};
      for (const [key, property] of Object.entries(schema.properties ?? {})) {
        const value = build(property, text);
        if (value !== undefined) made[key] = value;
      }
      return made;
    }
    default:
      return null;
  }
}

/** Every section that differs from a good one in one text, and still passes its schema: the operator may write it. */
export function* hostileSections(schema: Schema | undefined, section: unknown): Generator<{ readonly at: string; readonly section: unknown }> {
  if (schema === undefined) return;
  for (const [path, value] of textsIn(section, [])) {
    for (const text of [...Object.values(hostileTexts), "http://[", "https://", `${value}\0`, value.repeat(2_000)]) {
      const changed = replaced(section, path, text);
      if (text !== value && checkSchema(schema, changed) === undefined) yield { at: path.join("."), section: changed };
    }
  }
}

function* textsIn(value: unknown, path: readonly string[]): Generator<readonly [readonly string[], string]> {
  if (typeof value === "string") yield [path, value];
  else if (typeof value === "object" && value !== null) for (const [key, inner] of Object.entries(value)) yield* textsIn(inner, [...path, key]);
}

function replaced(value: unknown, [key, ...rest]: readonly string[], text: string): unknown {
  if (key === undefined) return text;
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === key ? replaced(item, rest, text) : item));
  const record = value as Record<string, unknown>;
  return { ...record, [key]: replaced(record[key], rest, text) };
}
