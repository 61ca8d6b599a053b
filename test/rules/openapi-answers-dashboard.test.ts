import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { AGENTS, bearer, type Guarded, guarded } from "./auth.harness.ts";
import { type Ask, askJudged, FIRST_PARTY, JUDGED_APART } from "./openapi-answers.harness.ts";

/** No plugin is in quarantine here, and the methods of what is sent on to another dashboard have one handler. */
const UNASKED = ["POST /api/admin/plugins/{id}/release", ...["DELETE", "PATCH", "PUT"].map((method) => `${method} /api/via/{daemon}/{rest}`)].sort();
const PAGES = ["/", "/live", "/inbox", "/processes", "/workflows", "/tasks", "/tasks/t", "/plugins", "/panels/p", "/admin", "/setup", "/workflows/editor"];

/** A channel that takes everything. */
const mail = definePlugin({
  kind: "channel",
  name: "mail",
  version: "1.0.0",
  svc: ">=0.1.0",
  capabilities: [],
  setup(ctx) {
    const traits = { maxChars: 100, unit: "utf16", dialect: "plain" } as const;
    const channel = ctx.provide.channel({ name: "mail", traits, send: async () => ({ platformId: "1" }) });
    return { start: async () => channel.ready() };
  },
}) as Plugin<never>;

const config = (far: Guarded) => ({
  agents: { ...AGENTS, foobar: { ...AGENTS.foobar, access: "public" } },
  workflows: { enabled: true },
  budgets: { all: { day: { turns: 1_000 } } },
  dashboard: { enabled: true, port: 0, daemons: [{ name: "far", url: far.daemon, dashboardUrl: far.dashboard }] },
});

/** The tasks that are there, what is asked of one that runs, and the chats. */
async function askTasks(at: Guarded, people: Ask): Promise<void> {
  const say = (text: string, more: object = {}) => people("POST", "/api/chat/foo", { text, chat: "c1", ...more });
  const { taskId } = (await say("hello")) as { taskId: string };
  const ended = (id: string) =>
    expect.poll(async () => (await people("GET", `/api/tasks/${id}`))["state"], { timeout: 20_000 }).not.toMatch(/running|queued|waiting/);
  await ended(taskId);
  for (const text of ["fail", "tool look", "usage 1 2 3 4"]) await ended(((await say(text)) as { taskId: string }).taskId);
  const { taskId: held } = (await say("hold")) as { taskId: string };
  await expect.poll(() => at.tier.held, { timeout: 20_000 }).toBe(1);
  const { taskId: next } = (await say("hold on")) as { taskId: string };
  await say("and this, too");
  for (const path of ["now", "agents", "series", "series?range=7d", "events", "marks", "marks?agent=foo", held]) await people("GET", `/api/tasks/${path}`);
  for (const path of ["", "?limit=1", "?state=failed", "?text=hello", "?below=none", "?limit=0"]) await people("GET", `/api/tasks${path}`);
  const { daemons } = (await people("GET", "/api/live")) as { daemons: { url: string }[] };
  const own = encodeURIComponent(daemons[0]?.url ?? "");
  await people("POST", `/api/task/action?node=${own}&task=${held}&kind=followup`, { message: "more" });
  await people("POST", `/api/task/action?node=${own}&task=none&kind=cancel`, {});
  await people("POST", `/api/tasks/${held}/stop`, {});
  await expect.poll(() => at.tier.prompts.at(-1), { timeout: 20_000 }).toMatch(/hold on/);
  await people("GET", "/api/tasks/now");
  await people("POST", `/api/tasks/${next}/stop`, {});
  await people("POST", "/api/tasks/none/stop", {});
  await people("POST", `/api/tasks/${taskId}/replay`, { message: "again" });
  for (const path of ["/api/tasks/none", "/api/chat/foo", "/api/chat/foo?chat=c1", "/api/chat/nobody", `/api/chat/foo/${taskId}/stream`])
    await people("GET", path);
  for (const path of [`/api/task/stream?task=${taskId}`, "/api/task/stream?task=none", "/api/live", "/api/agents", "/api/nodes", "/api/task/history"])
    await people("GET", path);
  await people("GET", "/api/live/stream");
}

async function askSettings(people: Ask): Promise<void> {
  const { revision } = (await people("GET", "/api/admin/settings")) as { revision: string };
  await people("GET", "/api/admin/schema");
  const named = (name: unknown) => [{ path: ["node", "name"], value: name }];
  for (const edits of [named("Other"), named(5)]) await people("POST", "/api/admin/settings/check", { edits, expect: revision });
  await people("PATCH", "/api/admin/settings", { edits: named(5), expect: revision });
  await people("PATCH", "/api/admin/settings", { edits: named("Other"), expect: revision });
  await people("PATCH", "/api/admin/settings", { edits: named("Another"), expect: revision });
  await people("POST", "/api/admin/settings/check", { edits: named("Another"), expect: revision });
  await people("POST", "/api/admin/secrets", { name: "TOKEN_OF_BOTMSG", value: "secret" });
  await people("POST", "/api/admin/secrets", { name: "no name", value: "secret" });
  await people("GET", "/api/admin/plugins");
  await people("POST", "/api/admin/plugins/feature-crons/release", {});
  await people("GET", "/api/admin/setup");
  for (const text of ["hello", "fail"]) await people("POST", "/api/admin/setup/try", { agent: "foo", text });
}

async function askChannels(people: Ask): Promise<void> {
  await people("GET", "/api/admin/channels");
  for (const name of ["botmsg", "guildchat", "phonemsg", "forge_a", "none"]) await people("GET", `/api/admin/channels/${name}/connect`);
  await people("POST", "/api/admin/channels/mail/message", { chat: "1", text: "hello" });
  await people("POST", "/api/admin/channels/none/message", { chat: "1", text: "hello" });
  const begun = (await people("POST", "/api/admin/channels/guildchat/setup", { server: "http://127.0.0.1:9" })) as { id: string };
  const look = () => people("GET", `/api/admin/setups/${begun.id}`);
  await expect.poll(async () => (await look())["state"], { timeout: 20_000 }).toBe("asking");
  const { question } = (await look()) as { question: { number: number } };
  await people("POST", `/api/admin/setups/${begun.id}/answer`, { number: question.number, value: "1:token" });
  await people("POST", `/api/admin/setups/${begun.id}/answer`, { number: 99, value: "x" });
  await expect.poll(async () => (await look())["state"], { timeout: 20_000 }).not.toBe("working");
  await people("DELETE", `/api/admin/setups/${begun.id}`);
  await people("GET", "/api/admin/setups/none");
}

async function askDoors(ask: Ask, people: Ask, stranger: Ask): Promise<void> {
  for (const path of [...PAGES, "/api/me", "/api/panels"]) await people("GET", path);
  const { url } = (await ask("POST", "/dashboard/link", {})) as { url: string };
  const code = url.split("#sign-in=")[1];
  const { token } = (await stranger("POST", "/api/sign-in", { code })) as { token: string };
  await stranger("POST", "/api/sign-in", { code });
  await stranger("POST", "/api/ticket", {}, bearer(token));
  await stranger("POST", "/api/ticket", {});
  await stranger("GET", "/api/me", undefined, bearer(token));
  await stranger("POST", "/api/sign-out", {}, bearer(token));
  await people("GET", "/api/via/far/api/tasks/now");
  await people("POST", "/api/via/far/api/chat/foo", { text: "hello", chat: "c" });
  await people("GET", "/api/via/nobody/api/me");
}

describe("answers of the dashboard are those that GET /openapi.json names", { timeout: 180_000 }, () => {
  it("of its pages, tasks, chats, settings, channels and doors", async () => {
    const far = await guarded({ options: { known: FIRST_PARTY } });
    const at = await guarded({ config: config(far), plugins: [mail], options: { known: FIRST_PARTY } });
    const { secret } = await at.token("dashboard:write");
    const { secret: caller } = await at.token("agent:foobar");
    const asking = await askJudged(at, { daemon: at.daemon, dashboard: at.dashboard }, JUDGED_APART.dashboard);
    const [people, stranger] = [asking.on("dashboard", bearer(secret)), asking.on("dashboard")];
    await askTasks(at, people);
    await askSettings(people);
    await askChannels(people);
    const script = /\/assets\/[^"]+\.js/.exec(await (await fetch(at.dashboard)).text())?.[0] ?? "no script";
    await people("GET", script);
    await askDoors(asking.on("daemon"), people, stranger);
    for (const agent of ["foobar", "foo", "nobody"]) await stranger("POST", `/api/public/agents/${agent}/messages`, { message: "hello" }, bearer(caller));
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual(UNASKED);
  });
});
