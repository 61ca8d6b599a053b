import { codeOf, type HttpReply, type HttpRequest, type HttpRoute, type IceCandidate, type PluginContext } from "@svc/sdk";
import { viewOf } from "./call-row.ts";
import { FRAME_BYTES } from "./camera.ts";
import { fail } from "./errors.ts";
import type { LiveCall } from "./live-call.ts";
import { mediaOf } from "./media.ts";
import type { Opened } from "./opened.ts";

const text = (maxLength: number) => ({ type: "string", minLength: 1, maxLength }) as const;
const ANSWER = { type: "object", additionalProperties: false, properties: { offer: text(60_000) } } as const;
const CANDIDATE = {
  type: "object",
  additionalProperties: false,
  required: ["candidate"],
  properties: {
    candidate: {
      anyOf: [
        { type: "null" },
        {
          type: "object",
          required: ["candidate"],
          // `RTCIceCandidate.toJSON` gains fields with new browsers.
          additionalProperties: true,
          properties: {
            candidate: { type: "string", maxLength: 1_000 },
            sdpMid: { anyOf: [{ type: "string", maxLength: 100 }, { type: "null" }] },
            sdpMLineIndex: { anyOf: [{ type: "integer", minimum: 0, maximum: 100 }, { type: "null" }] },
            usernameFragment: { anyOf: [{ type: "string", maxLength: 300 }, { type: "null" }] },
          },
        },
      ],
    },
  },
} as const;
/** Limit of a session description, which usually has some 5 KB. */
const OFFER_BYTES = 65_536;
const SMALL_BYTES = 4_096;

/**
 * Signalling. Who may place a call is judged by the guard; what follows is for the page that has joined this one call: the bearer that it got for
 * the code of its link is judged here, before the body is read. Bearers of other calls are refused as such.
 */
export function callRoutes(open: () => Promise<Opened>, ctx: Pick<PluginContext, "services">): readonly HttpRoute[] {
  const idOf = ({ params: { id = "" } }: HttpRequest): string => id;

  /** The call that the page of this request has joined. */
  async function joined(request: HttpRequest): Promise<LiveCall> {
    const opened = await open();
    const call = await opened.running(idOf(request));
    const bearer = /^bearer +(\S+) *$/i.exec(request.headers.authorization?.toString() ?? "")?.[1];
    const owner = bearer === undefined ? undefined : opened.tickets.callOf(bearer);
    if (owner === undefined) throw fail("SVC_CALLS_BEARER");
    if (owner !== call.row.id) throw fail("SVC_CALLS_FOREIGN");
    return call;
  }
  /** The same, or the person at this machine. */
  async function joinedOrHere(request: HttpRequest): Promise<LiveCall> {
    return request.caller.local && request.headers.authorization === undefined ? (await open()).running(idOf(request)) : joined(request);
  }
  /** Checked before the body, and with it: what the body needs time for may end meanwhile. */
  const ofPage = (
    method: HttpRoute["method"],
    name: string,
    handle: (call: LiveCall, request: HttpRequest, reply: HttpReply) => unknown,
    more: Partial<HttpRoute> & { readonly who?: (request: HttpRequest) => Promise<LiveCall>; readonly check?: (call: LiveCall) => void } = {},
  ): HttpRoute => {
    const { who = joined, check = () => {}, ...rest } = more;
    return {
      method,
      path: `/calls/:id/${name}`,
      guard: "open",
      async before(request) {
        check(await who(request));
      },
      handle: async (request, reply) => handle(await who(request), request, reply),
      ...rest,
    };
  };

  /** Returns the data with which a page begins; it contains the passwords of relays. */
  const mediaFor = (call: LiveCall) => {
    const media = mediaOf(ctx.services);
    const { camera } = media.settings();
    const { width, height, frameRate, bot } = camera;
    return {
      call: viewOf(call.row),
      ...(call.row.kind === "call" ? { iceServers: media.iceServers() } : { camera: { width, height, frameRate, maxFrameEdge: bot.maxFrameEdge } }),
    };
  };

  return [
    {
      method: "POST",
      path: "/calls/:id/join",
      // The code of the link is the credential: it is verified here.
      guard: "open",
      maxBytes: SMALL_BYTES,
      body: { type: "object", additionalProperties: false, required: ["code"], properties: { code: text(100) } },
      before: async (request) => void (await (await open()).running(idOf(request))),
      async handle(request) {
        const opened = await open();
        const call = await opened.running(idOf(request));
        const bearer = opened.tickets.join(call.row.id, (request.body as { code: string }).code);
        if (bearer === undefined) throw fail("SVC_CALLS_LINK");
        return { bearer, ...mediaFor(call) };
      },
    },
    ofPage("GET", "media", mediaFor),
    ofPage(
      "POST",
      "answer",
      async (call, { body }) => {
        const answer = await call.begin(((body ?? {}) as { offer?: string }).offer);
        return { call: viewOf(call.row), ...(answer === undefined ? {} : { answer }) };
      },
      { body: ANSWER, maxBytes: OFFER_BYTES, check: (call) => call.mustRing() },
    ),
    ofPage("POST", "restart", async (call, { body }) => ({ answer: await call.restart((body as { offer: string }).offer) }), {
      body: { ...ANSWER, required: ["offer"] },
      maxBytes: OFFER_BYTES,
    }),
    ofPage("POST", "candidate", (call, { body }) => call.candidate((body as { candidate: IceCandidate | null }).candidate), {
      body: CANDIDATE,
      maxBytes: SMALL_BYTES,
    }),
    {
      ...ofPage("POST", "end", () => undefined, { who: joinedOrHere }),
      // Both sides may end it at once: who comes second hears how it has ended.
      before: async (request) => void (await endOf(request)),
      async handle(request) {
        const live = await endOf(request);
        if (live !== undefined) {
          const here = request.headers.authorization === undefined;
          const declined = live.row.state === "ringing" && !here;
          await live.end({ reason: declined ? "declined" : "hung up", by: here ? "this machine" : live.row.person });
        }
        const row = await (await open()).row(idOf(request));
        return { call: row && viewOf(row) };
      },
    },
    ofPage("GET", "stream", (call, request, reply) => {
      const last = request.headers["last-event-id"];
      call.stream.open(reply, typeof last === "string" ? last : undefined, viewOf(call.row), request.signal);
    }),
    {
      method: "POST",
      path: "/calls/:id/ask",
      guard: "loopback",
      maxBytes: SMALL_BYTES,
      async handle(request) {
        const opened = await open();
        return { frame: opened.camera.ask(await opened.running(idOf(request))) };
      },
    },
    ofPage(
      "POST",
      "frame",
      async (call, { query: { n }, raw = new Uint8Array() }) => {
        await (await open()).camera.take(call, Number(n), raw);
        return { taken: Number(n) };
      },
      {
        raw: true,
        maxBytes: FRAME_BYTES,
        query: { type: "object", additionalProperties: false, required: ["n"], properties: { n: { type: "integer", minimum: 1, maximum: 1_000_000 } } },
      },
    ),
  ];

  /** The call that shall end; undefined where it has, for callers who may see that. */
  async function endOf(request: HttpRequest): Promise<LiveCall | undefined> {
    const opened = await open();
    if (opened.live(idOf(request)) !== undefined) return joinedOrHere(request);
    const row = await opened.row(idOf(request));
    if (row === undefined) throw fail("SVC_CALLS_UNKNOWN", { id: idOf(request) });
    const here = request.caller.local && request.headers.authorization === undefined;
    const away = opened.away(row);
    if (here && codeOf(away) === "SVC_CALLS_OVER") return undefined;
    throw away;
  }
}
