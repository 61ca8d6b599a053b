import type { HttpReply, HttpRequest, HttpRoute } from "@svc/sdk";
import type { Answer, MethodsOptions } from "./methods.ts";
import { methodsOf } from "./methods.ts";
import { answerTo, failureOf, parseCall, type RpcCall, RpcError } from "./rpc.ts";

/** The methods of the server, and its card. */
export interface ServerOptions extends Omit<MethodsOptions, "extendedCard"> {
  readonly card: (request: Pick<HttpRequest, "headers">) => object;
}

const MOST_BYTES = 4_194_304;
/** Versions of the protocol that a caller may name; none means 0.3. */
const VERSIONS = ["", "0.1", "0.2", "0.3", "1.0"];
const CARDS = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/** The routes of an A2A server: its card under both names, and the calls. */
export function serverRoutes({ card, ...options }: ServerOptions): readonly HttpRoute[] {
  const { guarded } = options;
  const methods = methodsOf({ ...options, extendedCard: () => (guarded ? card({ headers: {} }) : undefined) });
  const guard = guarded ? "scope:a2a:call" : "open";

  async function run(call: RpcCall, request: HttpRequest): Promise<Answer> {
    const { "a2a-version": version = "", "last-event-id": last } = request.headers;
    if (!VERSIONS.includes(minorOf(String(version))))
      throw new RpcError("version", `The version ${String(version).slice(0, 20)} of the protocol is not served; 0.3 and 1.0 are.`);
    const method = methods.get(call.method);
    if (method === undefined) throw new RpcError("method", `There is no method '${call.method.slice(0, 100)}'.`);
    return method(call.params, request.signal, typeof last === "string" ? last : undefined);
  }

  return [
    ...CARDS.map((path): HttpRoute => ({ method: "GET", path, guard: "open", handle: card })),
    {
      method: "POST",
      path: "/",
      guard,
      raw: true,
      maxBytes: MOST_BYTES,
      async handle(request, reply) {
        let call: RpcCall = { id: null, method: "", params: {} };
        try {
          requireJson(request);
          call = parseCall(request.raw ?? new Uint8Array());
          const answer = await run(call, request);
          // A notification has no answer; the task continues.
          if (call.id === undefined) return undefined;
          if ("task" in answer) return await stream(call, answer, reply);
          return answerTo(call.id, answer.result);
        } catch (error) {
          return call.id === undefined && call.method !== "" ? undefined : failureOf(call.id, error);
        }
      },
    },
  ];
}

/** A page that a browser shows can post text and forms to any address, but no JSON without asking first. */
function requireJson({ headers }: HttpRequest): void {
  const type = String(headers["content-type"] ?? "")
    .split(";")[0]
    ?.trim()
    .toLowerCase();
  if (type !== "application/json") throw new RpcError("contentType", "The content type must be application/json.");
}

/** `0.3.0` is `0.3`. */
const minorOf = (version: string): string => /^(\d+\.\d+)(\.\d+)?$/.exec(version.trim())?.[1] ?? version.trim();

/**
 * Tells a task's frames as they come, numbered, until the final one or until the caller is gone. From the first one on unless the caller
 * names the last one that it got; where that is no longer kept, the task as it is comes first.
 */
async function stream({ id }: RpcCall, { task, dialect, after }: Extract<Answer, { task: unknown }>, reply: HttpReply): Promise<void> {
  const out = reply.stream();
  const say = (result: object, seq: number) => out.event("message", answerTo(id, result), String(seq));
  let ended: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const missed = after === undefined ? undefined : task.after(after);
  if (missed === undefined) say(dialect.snapshot(task), task.seq);
  // Replay earlier frames before live ones: the task does not change in between.
  for (const frame of missed ?? []) say(dialect.frame(task, frame), frame.seq);
  const stop = task.listen((frame) => {
    if (!say(dialect.frame(task, frame), frame.seq) || task.isFinal) ended();
  });
  const watch = setInterval(() => {
    if (!out.comment("still there")) ended();
  }, 15_000);
  if (!task.isFinal) await over;
  clearInterval(watch);
  stop();
  out.end();
}
