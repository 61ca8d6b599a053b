import { type Caller, codeOf, type HttpRequest, type HttpRoute, type SettingEdit, type Settings, type SettingsDocument } from "@svc/sdk";

/** All of these change or show what runs the daemon: a token that may only read is refused (AUTH-09). */
export const admin = (method: HttpRoute["method"], path: string) =>
  ({ server: "dashboard", method, path: `/api/admin/${path}`, guard: "scope:dashboard:write" }) as const;

const SEGMENT = {
  anyOf: [{ type: "string" }, { type: "integer", minimum: 0 }, { type: "object", required: ["id"], properties: { id: { type: "string" } } }],
} as const;
const EDITS = {
  type: "array",
  maxItems: 1_000,
  items: {
    type: "object",
    additionalProperties: false,
    required: ["path"],
    properties: { path: { type: "array", minItems: 1, maxItems: 60, items: SEGMENT }, value: {}, reference: { const: true } },
  },
} as const;
const EXPECT = { type: "string", minLength: 1, maxLength: 100 } as const;
/** As much as a configuration may hold. */
const LARGEST = 1_048_576;

interface Asked {
  readonly edits: readonly SettingEdit[];
  readonly expect?: string;
}

/**
 * svc.json as it stands, its schema, a change that is tried, and one that is made: checked, written with a copy of the content before, taken
 * in by the daemon (000:L212). A change made from another revision is 409 with the document as it is now, so that nothing is lost.
 */
export function settingsRoutes(settings: Settings): readonly HttpRoute[] {
  return [
    { ...admin("GET", "settings"), handle: () => settings.read() },
    { ...admin("GET", "schema"), handle: async () => ({ schema: await settings.schema() }) },
    {
      ...admin("POST", "settings/check"),
      maxBytes: LARGEST,
      body: { type: "object", additionalProperties: false, required: ["edits"], properties: { edits: EDITS, expect: EXPECT } },
      handle: ({ body }, reply) =>
        orConflict(reply, settings, async ({ edits, expect } = body as Asked) => settings.preview(edits, expect === undefined ? {} : { expect })),
    },
    {
      ...admin("PATCH", "settings"),
      forPeople: true,
      maxBytes: LARGEST,
      body: { type: "object", additionalProperties: false, required: ["edits", "expect"], properties: { edits: EDITS, expect: EXPECT } },
      handle: ({ body, caller }, reply) =>
        orConflict(reply, settings, ({ edits, expect } = body as Asked) =>
          settings.change(edits, { ...(expect === undefined ? {} : { expect }), backup: true, by: whoIs(caller) }),
        ),
    },
    {
      ...admin("POST", "secrets"),
      forPeople: true,
      body: {
        type: "object",
        additionalProperties: false,
        required: ["name"],
        properties: {
          name: { type: "string", minLength: 1, maxLength: 200 },
          path: { type: "string", minLength: 1, maxLength: 1_000 },
          value: { type: "string", minLength: 1, maxLength: 20_000 },
        },
      },
      handle: ({ body, caller }: HttpRequest) =>
        settings.keepSecret(body as { name: string; path?: string; value?: string }, { backup: true, by: whoIs(caller) }),
    },
  ];
}

/** Names the author of a change, for the log. */
export const whoIs = ({ token, address }: Caller): string =>
  token === undefined ? `the dashboard, from ${address}` : `the dashboard, with the token ${token.name}`;

/** Data with which a page merges its changes with a concurrent one. */
interface Conflict {
  readonly error: string;
  readonly code: string;
  readonly current: SettingsDocument;
}

async function orConflict<T>(reply: { status(code: number): unknown }, settings: Settings, work: () => Promise<T>): Promise<T | Conflict | object> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    const { message } = error as Error;
    if (code === "SVC_CONFIG_CHANGED") {
      reply.status(409);
      return { error: message, code, current: await settings.read() };
    }
    if (code !== "SVC_CONFIG_INVALID") throw error;
    reply.status(400);
    const { problems = [] } = error as { problems?: readonly { readonly path: string }[] };
    return { error: `Validation failed: ${message}`, code, ...(problems[0] === undefined ? {} : { path: problems[0].path }), problems };
  }
}
