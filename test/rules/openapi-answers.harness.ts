import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type AnswerDocument, answerJudge } from "../kit/answers.ts";
import { type Guarded, get } from "./auth.harness.ts";

/** The folders of the plugins in this tree. */
export const FIRST_PARTY = ["actions", "channels", "features", "tiers"].flatMap((kind) => {
  const folder = join(import.meta.dirname, "../../plugins", kind);
  return readdirSync(folder).map((name) => join(folder, name));
});

/** Plugins whose answers are judged by a test file beside that of the kernel: each needs a far end or settings of its own. */
export const JUDGED_APART = {
  channels: ["channel-botmsg", "channel-phonemsg", "channel-push"],
  hosts: ["feature-a2a", "feature-attach", "feature-forge-hooks", "feature-phone-triage", "tier-cli-a"],
  knowledge: ["feature-graph", "feature-mcp", "feature-procedures"],
  workflows: ["feature-workflows"],
  calls: ["feature-calls"],
  dashboard: ["feature-dashboard"],
} as const;

/** An operation, with the plugin that has it. */
export type Operation = AnswerDocument["paths"][string][string] & { readonly tags: readonly [string] };

/** Each as `GET /things/{id}`. */
export const operationsOf = (paths: AnswerDocument["paths"]): [string, Operation][] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation as Operation]),
  );

const bytesOf = (body: unknown): string | Uint8Array<ArrayBuffer> => {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === "string" ? body : JSON.stringify(body);
};

/** Makes a request and judges its answer; gives back what was answered, where that is a JSON object. */
export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Record<string, unknown>>;

export interface Asking {
  /** Requests to a server, with headers that each of them has. */
  on(server: string, always?: Record<string, string>): Ask;
  /** What is wrong with the answers so far. */
  readonly wrong: readonly string[];
  /** Routes of the plugins that have not answered with success yet. */
  unasked(): readonly string[];
}

/**
 * Judges answers of a daemon by the document that it gives itself. `judged` says of which plugins all routes are to be asked; of a list,
 * each must have some: a plugin that the configuration does not activate has none to be missed.
 */
export async function askJudged(
  at: Pick<Guarded, "daemon">,
  bases: Readonly<Record<string, string>>,
  judged: readonly string[] | ((plugin: string) => boolean),
): Promise<Asking> {
  const [seen, told, wrong] = [new Set<string>(), new Set<string>(), [] as string[]];
  const isJudged = typeof judged === "function" ? judged : (plugin: string) => judged.includes(plugin);
  const active = new Set<string>();
  const judges = new Map<string, ReturnType<typeof answerJudge>>();
  for (const server of Object.keys(bases)) {
    const document = (await get(at.daemon, `/openapi.json?server=${server}`)).body as unknown as AnswerDocument;
    judges.set(server, answerJudge(document));
    for (const [route, { tags }] of operationsOf(document.paths)) {
      active.add(tags[0]);
      if (isJudged(tags[0])) told.add(route);
    }
  }
  if (typeof judged !== "function") wrong.push(...judged.filter((plugin) => !active.has(plugin)).map((plugin) => `${plugin} has no routes here`));
  return {
    wrong,
    unasked: () => [...told].filter((route) => !seen.has(route)).sort(),
    on:
      (server, always = {}) =>
      async (method, path, body, headers = {}) => {
        const sent = body === undefined ? {} : { body: bytesOf(body) };
        const response = await fetch(bases[server] + path, { method, headers: { "content-type": "application/json", ...always, ...headers }, ...sent });
        const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
        // Such a stream ends when its reader goes.
        const open = (path.startsWith("/events") || path.startsWith("/api/live/stream")) && type === "text/event-stream";
        const text = open ? "" : await response.text();
        if (open) await response.body?.cancel();
        const found = judges.get(server)?.judge({ method, path, status: response.status, type, text });
        if (response.status < 400) seen.add(found?.route ?? "");
        wrong.push(...(found?.wrong ?? []).map((what) => `${method} ${path} ${response.status}: ${what}\n${text.slice(0, 600)}`));
        return text === "" || type !== "application/json" ? {} : (JSON.parse(text) as Record<string, unknown>);
      },
  };
}
