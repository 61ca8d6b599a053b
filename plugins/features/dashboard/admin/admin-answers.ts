import { type Answers, listOf, objectOf, recordOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const amount: Schema = { type: "number", minimum: 0 };
const texts = listOf(text);
const open = (description: string): Schema => ({ type: "object", additionalProperties: true, description });

const problemFacts = { path: text, message: text, severity: { type: "string", enum: ["error", "warning"] } } satisfies Record<string, Schema>;
const SettingsProblem = objectOf(problemFacts, { line: count, column: count });

const SettingsDocument = objectOf(
  {
    document: open("svc.json as it stands, `${NAME}` as written, credentials as `***`"),
    revision: { type: "string", description: "For the `expect` of a change" },
    secrets: listOf(objectOf({ path: text, set: flag }, { reference: { type: "string", description: "The variable that it names" } })),
    problems: listOf(SettingsProblem),
  },
  { text: { type: "string", description: "The text itself, credentials as `***`" } },
);

const SettingsReport = objectOf(
  { revision: text },
  {
    reloaded: texts,
    restartRequired: texts,
    reloadSkipped: { type: "string", description: "Why nothing of it is in force yet" },
    failed: listOf(objectOf({ plugin: text, reason: text })),
    backup: { type: "string", description: "The copy of the content before" },
  },
);

const SettingsPreview = objectOf({
  revision: text,
  paths: texts,
  problems: listOf(objectOf(problemFacts, { line: count, column: count, fresh: { const: true, description: "The edits bring it" } })),
  restartRequired: texts,
  difference: listOf(objectOf({ sign: { type: "string", enum: ["-", "+", " "] }, number: count, text })),
});

const SettingEdit = objectOf(
  { path: listOf({ anyOf: [text, count, objectOf({ id: text })] }) },
  { value: { description: "Absent: the setting is taken out" }, reference: { const: true } },
);

const channelState = objectOf({ name: text, state: { type: "string", enum: ["connecting", "ready", "down"] } }, { reason: text });

const DashboardPlugin = objectOf(
  {
    id: text,
    kind: text,
    state: text,
    source: { type: "string", enum: ["first-party", "package", "path", "inline"] },
    provides: texts,
    hooks: texts,
    capabilities: texts,
    failures: count,
    channels: listOf(channelState),
    on: { type: "boolean", description: "Whether it would run at the next start" },
    needs: texts,
    neededBy: texts,
    breaks: { ...texts, description: "What would not work any more without it" },
  },
  {
    version: text,
    reason: text,
    took: objectOf({ load: amount, setup: amount, start: amount }),
    isolation: objectOf({ state: text, walls: texts }, { pid: count }),
    product: text,
    section: text,
    fixed: { type: "string", description: "Why it cannot be switched here" },
    switch: objectOf({ on: listOf(SettingEdit), off: listOf(SettingEdit) }),
    memory: { ...count, description: "Bytes of its own process" },
  },
);

const DashboardChannel = objectOf(
  { name: text, section: text, plugin: text, state: { type: "string", enum: ["ready", "connecting", "down", "off", "failed"] }, channels: texts },
  { product: text, reason: text, lastIn: count, people: { type: "string", description: "Where people who wrote for the first time are confirmed" } },
);

const OfferedChannel = objectOf(
  { name: { type: "string", description: "What `svc connect` takes" }, package: text, summary: text },
  { product: text, bytes: { ...count, description: "Of the package alone" }, because: { type: "string", description: "Why it is a package of its own" } },
);

const ConnectForm = objectOf(
  { explanation: text, secrets: listOf(objectOf({ path: text, variable: text })) },
  {
    agent: text,
    allow: text,
    server: text,
    asks: { type: "string", enum: ["page", "terminal"] },
    pair: { type: "string", description: "The path at which a device is linked" },
  },
);

const question = objectOf(
  { number: count, text },
  { secret: { const: true }, kept: { const: true }, choices: listOf(objectOf({ id: text, label: text })), usual: text },
);
const ChannelSetup = objectOf(
  { id: text, channel: text, state: { type: "string", enum: ["working", "asking", "done", "failed"] }, said: texts },
  { question, error: text, next: { type: "string", description: "What the person does at the platform now" }, report: SettingsReport },
);

const engine = objectOf(
  { label: text, tier: text, models: texts, hint: text },
  { provider: objectOf({ name: text, entry: recordOf(text) }), settings: open("Further settings of the agent") },
);

const refused = objectOf({ error: text }, { code: text, path: text, field: text, problems: listOf(SettingsProblem) });
const changed = objectOf({ error: text, code: text }, { current: SettingsDocument });

/** Of the administration, the page of plugins and the first run. */
export default {
  schemas: {
    SettingsProblem,
    SettingsDocument,
    SettingsReport,
    SettingsPreview,
    SettingEdit,
    DashboardPlugin,
    DashboardChannel,
    OfferedChannel,
    ConnectForm,
    ChannelSetup,
  },
  routes: {
    "GET /api/admin/settings": [{ json: SettingsDocument }],
    "GET /api/admin/schema": [{ json: objectOf({ schema: open("The JSON schema of svc.json") }) }],
    "POST /api/admin/settings/check": [{ json: SettingsPreview }, { status: 400, json: refused }, { status: 409, json: changed }],
    "PATCH /api/admin/settings": [{ json: SettingsReport }, { status: 400, json: refused }, { status: 409, json: changed }],
    "POST /api/admin/secrets": [{ json: SettingsReport }],
    "GET /api/admin/plugins": [
      { json: objectOf({ plugins: listOf(DashboardPlugin), revision: text, memory: { ...count, description: "Bytes of the daemon's process" } }) },
    ],
    "POST /api/admin/plugins/:id/release": [{ json: objectOf({ loaded: flag }, { reason: text }) }],
    "GET /api/admin/channels": [{ json: objectOf({ channels: listOf(DashboardChannel), offered: listOf(OfferedChannel) }) }],
    "GET /api/admin/channels/:name/connect": [{ json: ConnectForm }],
    "POST /api/admin/channels/:name/setup": [{ json: ChannelSetup }],
    "POST /api/admin/channels/:name/message": [
      { json: objectOf({ id: text }, { platformId: text, waiting: { const: true, description: "It has not left yet, and goes on by itself" } }) },
    ],
    "GET /api/admin/setups/:id": [{ json: ChannelSetup }],
    "POST /api/admin/setups/:id/answer": [{ json: ChannelSetup }],
    "DELETE /api/admin/setups/:id": [{ status: 204 }],
    "GET /api/admin/setup": [{ json: objectOf({ revision: text, engines: listOf(engine), installable: texts, agents: texts, channels: texts }) }],
    "POST /api/admin/setup/try": [{ json: objectOf({ ok: flag, reply: text, status: text, taskId: text }, { error: text }) }],
  },
} satisfies Answers;
