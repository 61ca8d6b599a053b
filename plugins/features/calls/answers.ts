import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "string", format: "date-time" };
const page: readonly RouteAnswer[] = [{ type: "text/html" }];

const Call = objectOf(
  {
    id: text,
    kind: { type: "string", enum: ["call", "camera"] },
    direction: { type: "string", enum: ["in", "out"], description: "`in`: somebody calls the agent" },
    agent: text,
    caller: { type: "string", description: "Who rings: a peer, this machine, or the agent" },
    person: { type: "string", description: "Who is at the other end, as far as it is known" },
    state: { type: "string", enum: ["ringing", "running", "ended"] },
    said: { ...count, description: "Lines of the transcript" },
    frames: { ...count, description: "Pictures that were taken" },
    at: time,
    ringUntil: time,
  },
  {
    why: text,
    startedAt: time,
    limitAt: time,
    endedAt: time,
    end: objectOf(
      { reason: { type: "string", enum: ["hung up", "declined", "missed", "limit", "failed", "restarted"] } },
      { by: text, words: { type: "string", description: "What went wrong" } },
    ),
    answered: objectOf({ by: text, surface: text }),
  },
);

const CallLine = objectOf({ call: text, n: count, atMs: { ...count, description: "Milliseconds since the call began" }, who: text, text });

const media = { call: Call } satisfies Record<string, Schema>;
const mediaOfKind = {
  iceServers: {
    ...listOf(objectOf({ urls: { anyOf: [text, listOf(text)] } }, { username: text, credential: text })),
    description: "Of a call: for RTCPeerConnection",
  },
  camera: { ...objectOf({ width: count, height: count, frameRate: count, maxFrameEdge: count }), description: "Of a camera session" },
} satisfies Record<string, Schema>;

const answer: Schema = { type: "string", description: "A session description (SDP)" };

export default {
  schemas: { Call, CallLine },
  routes: {
    "POST /calls": [{ status: 201, json: objectOf({ call: Call }, { url: { type: "string", description: "The link with which somebody joins" } }) }],
    "GET /calls": [{ json: objectOf({ calls: listOf(Call) }) }],
    "GET /calls/:id": [{ json: objectOf({ call: Call, lines: listOf(CallLine) }) }],
    "POST /calls/:id/join": [{ json: objectOf({ bearer: { type: "string", description: "For the other requests of this call" }, ...media }, mediaOfKind) }],
    "GET /calls/:id/media": [{ json: objectOf(media, mediaOfKind) }],
    "POST /calls/:id/answer": [{ json: objectOf({ call: Call }, { answer }) }],
    "POST /calls/:id/restart": [{ json: objectOf({ answer }) }],
    "POST /calls/:id/candidate": [{ status: 204 }],
    "POST /calls/:id/end": [{ json: objectOf({}, { call: Call }) }],
    "GET /calls/:id/stream": [{ type: "text/event-stream" }],
    "POST /calls/:id/ask": [{ json: objectOf({ frame: { ...count, description: "The number of the picture that the page is asked for" } }) }],
    "POST /calls/:id/frame": [{ json: objectOf({ taken: count }) }],
    "GET /call/:id": page,
    "GET /camera/:id": page,
  },
} satisfies Answers;
