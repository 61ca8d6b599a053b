import type { ObjectSchema } from "@svc/sdk";

/** A further daemon that is shown. */
export interface OtherDaemon {
  readonly name: string;
  readonly url: string;
  readonly dashboardUrl?: string;
  /** Lets this dashboard in at that daemon: its operator token. */
  readonly token?: string;
  readonly dashboardToken?: string;
}

/** The section `dashboard` (001:L244), defaults filled in. */
export interface DashboardSettings {
  readonly enabled: boolean;
  readonly port: number;
  readonly bind: string;
  readonly token?: string;
  readonly daemonUrl: string;
  readonly daemons: readonly OtherDaemon[];
  readonly draftAgent?: string;
}

/** Where a daemon listens by default. As `daemonUrl` it means the one that this dashboard runs in, wherever that listens. */
export const THIS_DAEMON = "http://localhost:18800";

/** The section `dashboard` of svc.json. */
export const DASHBOARD: ObjectSchema = {
  type: "object",
  description: "the dashboard server",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch" },
    port: { type: "integer", minimum: 0, maximum: 65_535, default: 4202, description: "port; 0 takes any free one" },
    bind: {
      type: "string",
      minLength: 1,
      pattern: "^[0-9A-Za-z.:-]+$",
      default: "127.0.0.1",
      description: "address without a port; with one that others reach, such as 0.0.0.0, also set token",
    },
    // A bearer with a space in it can never be sent.
    token: { type: "string", secret: true, pattern: "^\\S*$", description: "single bearer for everything under /api; unset: this machine needs none" },
    daemonUrl: { type: "string", format: "url", default: THIS_DAEMON, description: "the daemon behind this dashboard; by default the one it runs in" },
    daemons: {
      type: "array",
      default: [],
      description: "further daemons that are shown",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "url"],
        properties: {
          name: { type: "string", minLength: 1, description: "name" },
          url: { type: "string", format: "url", description: "address of the daemon" },
          dashboardUrl: { type: "string", format: "url", description: "address of its dashboard; derived from url when unset" },
          token: { type: "string", secret: true, description: "operator token for that daemon" },
          dashboardToken: { type: "string", secret: true, description: "token for that dashboard" },
        },
      },
    },
    draftAgent: { type: "string", minLength: 1, description: "agent that writes drafts" },
  },
};
