import { type Forge, type HttpRequest, type HttpRoute, type Log, type Op, push, reasonOf, requireSignature, requireSignatureHeader, svcError } from "@svc/sdk";
import { type Incoming, NAMES, type Rows } from "./rows.ts";

/** As much as a forge sends. */
const MAX_BYTES = 26_214_400;
const WARN_MS = 60_000;
/** Stored length of a note, with some margin: the rest is dropped. */
const KEPT_CHARS = 100_000;
/** Well before the 10 s after which a forge takes a delivery for lost. */
const ANSWER_MS = 4_500;

/** Dependencies of receiving deliveries. */
export interface Reception {
  readonly rows: Rows;
  readonly log: Log;
  readonly forges: ReadonlyMap<string, Forge>;
}

/** `POST /webhook/<name>`: proof, then the commit, then 202. What it means is found out afterwards. */
export function receiverRoute(name: string, { rows, log, forges }: Reception): HttpRoute {
  const refusals = { count: 0, warned: Number.NEGATIVE_INFINITY };
  const refused = (request: HttpRequest, error: unknown): void => {
    if ((error as { status?: number }).status !== 401) return;
    refusals.count += 1;
    if (performance.now() - refusals.warned < WARN_MS) return;
    log.warn({ forge: name, address: request.caller.address, refused: refusals.count, reason: reasonOf(error) }, "a webhook of a forge was refused");
    refusals.warned = performance.now();
    refusals.count = 0;
  };
  const watched = async <T>(request: HttpRequest, work: (forge: Forge) => Promise<T>): Promise<T> => {
    try {
      const forge = forges.get(name);
      if (forge === undefined) throw svcError("SVC_FORGE_OFF", `${name} is not connected; see channels.${name} in svc.json.`, { status: 503 });
      return await work(forge);
    } catch (error) {
      refused(request, error);
      throw error;
    }
  };
  return {
    method: "POST",
    path: `/webhook/${name}`,
    server: "forge",
    guard: "signed",
    raw: true,
    maxBytes: MAX_BYTES,
    before: (request) => watched(request, ({ webhook }) => requireSignatureHeader(request, webhook.secrets(), webhook.schemes)),
    handle: (request, reply) =>
      watched(request, async (forge) => {
        await requireSignature(request, forge.webhook.secrets(), forge.webhook.schemes);
        const event = forge.read(request.headers, payloadOf(request));
        if (event.kind === "ignored") {
          log.info({ forge: name, delivery: forge.webhook.deliveryId?.(request.headers), reason: event.reason }, "a delivery was not taken");
          reply.status(204);
          return undefined;
        }
        const incoming: Incoming[] =
          event.kind === "notes"
            ? event.notes.map((note) => ({ forge: name, note, via: "hook", at: Date.now() }))
            : [{ forge: name, deleted: { place: event.place, note: event.note }, via: "hook", at: Date.now() }];
        await inTime(projectOps(rows, incoming).then((ops) => rows.store.commit([...incoming.map(pushIncoming), ...ops])));
        reply.status(202);
        return { accepted: incoming.length };
      }),
  };
}

/** Forges give up after some seconds and count that against the hook: they are told to come again. */
async function inTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(svcError("SVC_FORGE_SLOW", "The delivery could not be stored in time; send it again.", { status: 503 })), ANSWER_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** The write that hands a note to the inbox: in order with others at the same issue, request or commit. */
export function pushIncoming(incoming: Incoming): Op {
  const { note } = incoming;
  const place = note?.place ?? incoming.deleted?.place;
  const kept: Incoming = note === undefined ? incoming : { ...incoming, note: { ...note, text: note.text.slice(0, KEPT_CHARS) } };
  return push(NAMES.inbox, `in_${crypto.randomUUID()}`, kept, { group: JSON.stringify([incoming.forge, place?.project.id, place?.kind, place?.id]) });
}

/** Projects are known from their deliveries: backfill asks for them later. */
async function projectOps(rows: Rows, incoming: readonly Incoming[]): Promise<readonly Op[]> {
  const ops: Op[] = [];
  for (const { forge, note } of incoming) {
    if (note === undefined) continue;
    const { project } = note.place;
    const key = JSON.stringify([forge, project.id]);
    const known = (await rows.projects.get(key))?.value;
    if (known?.path === project.path && known.private === project.private) continue;
    ops.push({ op: "put", collection: "projects", key, value: { ...project, forge, at: Date.now() } });
  }
  return ops;
}

/** JSON, or a form with JSON in `payload`. Throws 400. */
function payloadOf({ raw, headers }: Pick<HttpRequest, "raw" | "headers">): unknown {
  const type = String(headers["content-type"] ?? "")
    .split(";")[0]
    ?.trim()
    .toLowerCase();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(raw ?? new Uint8Array());
    return JSON.parse(type === "application/x-www-form-urlencoded" ? (new URLSearchParams(text).get("payload") ?? "") : text);
  } catch (error) {
    throw svcError("SVC_FORGE_BODY", `The body is signed and is no JSON: ${reasonOf(error)}.`, { status: 400 });
  }
}
