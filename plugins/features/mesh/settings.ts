import type { ObjectSchema } from "@svc/sdk";

/** A daemon of the mesh, as configured. */
export interface Peer {
  readonly name: string;
  readonly url: string;
  readonly token?: string;
}

/** The section `mesh` (001:L220), defaults filled in. */
export interface MeshSettings {
  readonly enabled: boolean;
  readonly peers: readonly Peer[];
  readonly discovery: "static" | "mdns";
  /** Seconds. */
  readonly healthCheck: { readonly interval: number; readonly timeout: number };
  readonly feed: { readonly enabled: boolean; readonly skipTypes: readonly string[] };
}

/** The section `mesh` of svc.json. */
export const MESH: ObjectSchema = {
  type: "object",
  description: "other daemons that this one works with",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch" },
    peers: {
      type: "array",
      default: [],
      description: "the other daemons",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "url"],
        properties: {
          name: { type: "string", minLength: 1, description: "name of the peer" },
          url: { type: "string", minLength: 1, format: "url", description: "address of the peer's daemon" },
          token: { type: "string", secret: true, pattern: "^\\S*$", description: "shared secret, as an environment reference; both ends hold the same" },
        },
      },
    },
    discovery: {
      type: "string",
      enum: ["static", "mdns"],
      default: "static",
      description: "static: peers are those of the file; mdns: daemons of the local network are also shown, and this one is announced there",
    },
    healthCheck: {
      type: "object",
      default: {},
      description: "how peers are watched",
      additionalProperties: false,
      properties: {
        interval: { type: "number", exclusiveMinimum: 0, default: 60, description: "seconds between two looks" },
        timeout: { type: "number", exclusiveMinimum: 0, default: 10, description: "seconds a peer may take" },
      },
    },
    feed: {
      type: "object",
      default: {},
      description: "events of the peers",
      additionalProperties: false,
      properties: {
        enabled: { type: "boolean", default: true, description: "false turns the feed off" },
        skipTypes: { type: "array", items: { type: "string" }, default: ["task:step"], description: "event types left out; in force at the next reconnect" },
      },
    },
  },
};
