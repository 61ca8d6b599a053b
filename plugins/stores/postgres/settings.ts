import type { ObjectSchema } from "@svc/sdk";

/** The section `store`. */
export interface StoreSettings {
  readonly url: string;
  readonly schema?: string;
  readonly poolSize?: number;
  readonly listenUrl?: string;
}

/** Schema of the section. */
export const STORE = {
  type: "object",
  required: ["url"],
  additionalProperties: false,
  restart: true,
  properties: {
    url: {
      type: "string",
      secret: true,
      minLength: 1,
      description: "address of the PostgreSQL database: postgres://user:password@host:port/database",
    },
    listenUrl: {
      type: "string",
      secret: true,
      minLength: 1,
      description: "address for LISTEN where a pooler stands between; without it url",
    },
    schema: { type: "string", pattern: "^[a-z_][a-z0-9_]{0,40}$", default: "svc", description: "schema that holds the state; made where there is none" },
    poolSize: { type: "integer", minimum: 2, maximum: 100, default: 8, description: "connections at most, one for beats and one for hints besides" },
  },
} as const satisfies ObjectSchema;
