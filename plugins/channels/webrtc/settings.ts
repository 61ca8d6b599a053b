import type { CallChat, CallSettings, IceServer, ObjectSchema, Schema, SectionProblem, TranscriptionSettings } from "@svc/sdk";

/** `channels.webrtc` of svc.json (001:L142). */
export interface Settings {
  readonly enabled?: boolean;
  readonly stunServers?: readonly string[];
  readonly turnServers?: readonly IceServer[];
  /** Addresses of this machine that are offered besides those of its interfaces. */
  readonly hostAddresses?: readonly string[];
  readonly portRange?: { readonly from: number; readonly to: number };
  readonly relayOnly?: boolean;
  readonly allowedCallers?: readonly string[];
  readonly ringNotify?: readonly CallChat[];
  readonly callUrlBase?: string;
  readonly camera?: Partial<Omit<CallSettings["camera"], "bot">> & { readonly bot?: Partial<CallSettings["camera"]["bot"]> };
  readonly bot?: Partial<CallSettings["bot"]> & {
    readonly whisperBackend?: "auto" | "local" | "cloud";
    readonly whisperModel?: string;
    readonly whisperLanguage?: string;
    readonly mlxBinary?: string;
  };
}

/** Where nothing is set: what most browsers use. It learns the addresses of callers' networks and nothing of a call. */
const PUBLIC_STUN = "stun:stun.l.google.com:19302";

const count = (description: string, least: number, most: number, value: number): Schema => ({
  type: "integer",
  minimum: least,
  maximum: most,
  default: value,
  description,
});
const words = (description: string): Schema => ({ type: "string", minLength: 1, description });
const address = (kind: string, description: string): Schema => ({ type: "string", pattern: `^${kind}s?:[^\\s/]+$`, description });

const CHAT: ObjectSchema = {
  type: "object",
  required: ["channel", "chatId"],
  properties: { channel: words("channel"), chatId: words("chat"), accountId: words("account of the channel") },
};

const TURN: ObjectSchema = {
  type: "object",
  required: ["urls"],
  properties: {
    urls: {
      anyOf: [address("turn", "turn:host:port"), { type: "array", minItems: 1, items: address("turn", "turn:host:port") }],
      description: "address or addresses of the relay",
    },
    username: words("user name at the relay"),
    credential: { type: "string", minLength: 1, secret: true, description: "password at the relay, as an environment reference; callers are given it" },
  },
};

const CAMERA: ObjectSchema = {
  type: "object",
  description: "cameras of people who let an agent see",
  properties: {
    width: count("pixels", 160, 3840, 1280),
    height: count("pixels", 120, 2160, 720),
    frameRate: count("frames a second", 1, 60, 15),
    maxSeconds: count("longest camera session in seconds", 10, 7200, 600),
    bot: {
      type: "object",
      properties: {
        frameIntervalSeconds: count("seconds between frames; 0: only on request", 0, 3600, 0),
        maxSessionMinutes: count("minutes", 1, 240, 10),
        maxFrameEdge: count("longest edge of a frame in pixels", 160, 3840, 1024),
        keepFrames: { type: "boolean", default: false, description: "keep frames on disk" },
      },
    },
  },
};

const BOT: ObjectSchema = {
  type: "object",
  description: "hears calls and writes down what was said; it never speaks",
  properties: {
    enabled: { type: "boolean", default: false, description: "switch" },
    defaultAgentId: words("agent that is told what was said"),
    whisperBackend: { type: "string", enum: ["auto", "local", "cloud"], default: "auto", description: "who turns speech into words" },
    whisperModel: words("file of the local model; default: that of transcription"),
    whisperLanguage: { type: "string", minLength: 2, default: "auto", description: "language of the calls, such as en, or auto" },
    mlxBinary: words("local program in place of the model's library"),
    transcriptChannel: { ...CHAT, description: "where transcripts are written" },
    maxCallMinutes: count("longest call in minutes", 1, 240, 30),
  },
};

/** The section `channels.webrtc`. */
export const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    stunServers: {
      type: "array",
      items: address("stun", "stun:host:port"),
      default: [PUBLIC_STUN],
      description: "servers that tell a machine its public address",
    },
    turnServers: { type: "array", items: TURN, description: "relays, for callers who cannot reach this machine" },
    hostAddresses: {
      type: "array",
      items: words("IP address"),
      description: "addresses of this machine to offer besides its own, such as that of a NAT that forwards the port range",
    },
    portRange: {
      type: "object",
      required: ["from", "to"],
      properties: { from: count("first UDP port", 1024, 65534, 49152), to: count("last UDP port", 1025, 65535, 65535) },
      description: "UDP ports of calls, to be opened in a firewall; default any",
    },
    relayOnly: { type: "boolean", default: false, description: "calls go through turnServers alone" },
    allowedCallers: { type: "array", items: words("who"), default: [], description: "who may call; empty: everybody who can reach this daemon" },
    ringNotify: { type: "array", items: CHAT, description: "where a ring is announced" },
    callUrlBase: { type: "string", pattern: "^https?://", description: "base of call links; default http:// and node.bind" },
    camera: CAMERA,
    bot: BOT,
  },
};

/** Checks that the schema cannot express. */
export function checkSection({ portRange, relayOnly, turnServers = [], bot }: Settings, { agents }: { readonly agents: readonly string[] }): SectionProblem[] {
  const problems: SectionProblem[] = [];
  const wrong = (path: string, message: string) => problems.push({ path, message, severity: "error" });
  if (portRange !== undefined && portRange.to <= portRange.from) wrong("portRange.to", "must be above portRange.from");
  if (relayOnly === true && turnServers.length === 0) wrong("relayOnly", "needs a relay: add one to turnServers");
  for (const [at, { username, credential }] of turnServers.entries()) {
    if (username === undefined || credential === undefined)
      wrong(`turnServers[${at}]`, "needs username and credential: a relay without a password serves strangers");
  }
  if (bot?.defaultAgentId !== undefined && !agents.includes(bot.defaultAgentId))
    wrong("bot.defaultAgentId", `names the agent '${bot.defaultAgentId}', which agents does not have`);
  return problems;
}

/** Returns the settings that the rest of the daemon may see. */
export function callSettingsOf({ allowedCallers = [], ringNotify = [], callUrlBase, camera = {}, bot = {} }: Settings): CallSettings {
  const { bot: cameraBot, ...size } = camera;
  const { enabled = false, defaultAgentId, transcriptChannel, maxCallMinutes = 30 } = bot;
  return {
    allowedCallers,
    ringNotify,
    ...(callUrlBase === undefined ? {} : { callUrlBase }),
    camera: {
      ...{ width: 1280, height: 720, frameRate: 15, maxSeconds: 600, ...size },
      bot: { frameIntervalSeconds: 0, maxSessionMinutes: 10, maxFrameEdge: 1024, keepFrames: false, ...cameraBot },
    },
    bot: {
      enabled,
      maxCallMinutes,
      ...(defaultAgentId === undefined ? {} : { defaultAgentId }),
      ...(transcriptChannel === undefined ? {} : { transcriptChannel }),
    },
  };
}

/** Returns the recogniser's settings. */
export function transcriptionOf({ bot: { whisperBackend, whisperModel, whisperLanguage, mlxBinary } = {} }: Settings): TranscriptionSettings {
  return {
    backend: whisperBackend ?? "auto",
    language: whisperLanguage ?? "auto",
    ...(whisperModel === undefined ? {} : { model: whisperModel }),
    ...(mlxBinary === undefined ? {} : { binary: mlxBinary }),
  };
}

/** For browsers and for this end alike. */
export function iceServersOf({ stunServers = [PUBLIC_STUN], turnServers = [] }: Settings): readonly IceServer[] {
  return [...(stunServers.length === 0 ? [] : [{ urls: stunServers }]), ...turnServers];
}
