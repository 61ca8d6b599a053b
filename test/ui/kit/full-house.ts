import { startForgeA } from "../../kit/forge-a/server.ts";
import { freePort } from "../../kit/free-port.ts";
import { type Dashboard, startDashboard } from "./dashboard.ts";
import { AGENTS, pastDays } from "./past-days.ts";

const TOKEN = "glpat-CANARY-token-of-the-full-house";
const APP = "group/app";
const DEEP = "group/a-long-board";
const LONG = "Geschwindigkeitsbegrenzungsueberschreitungsverfahrensordnung";
const LABELS = ["todo", "doing", "on-hold", "review"].map((id) => `status::${id}`);
const TITLES = [
  "Crash when the config folder is a symlink",
  "通知が二重に届く（グループチャットのみ、Android 15 以降で再現）",
  "مساعد الجدولة يعيد المحادثة مرتين",
  LONG,
  "Ask: could the nightly digest skip days without a single change at all?",
];
/** A plugin that asks people, as jobs and engines do. */
const ASKS = `export default { kind: "feature", name: "asks", version: "1.0.0", svc: "*", capabilities: ["services", "routes"],
  setup(ctx) {
    const approvals = () => ctx.services.get("approvals");
    const handle = async ({ body }) => approvals().ask({ digest: await approvals().digest(body), ...body });
    ctx.provide.route({ method: "POST", path: "/asks", guard: "loopback", body: { type: "object", additionalProperties: true }, handle });
  } };`;

const edges = (text: string) =>
  text.split(",").map((edge) => {
    const [source = "", to = ""] = edge.split(">").map((part) => part.trim());
    const [from = "", fromPort] = source.split(".");
    return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
  });
const flow = (nodes: readonly object[], ways: string, more: object = {}) =>
  JSON.stringify({ ...more, nodes: [{ id: "start", kind: "trigger" }, ...nodes], edges: edges(ways) });

const FORM = [
  { name: "day", kind: "date", label: "Release date", required: true },
  { name: "channels", kind: "multi-select", label: "Channels", options: ["blog", "botmsg"], min: 1, required: true },
  { name: "notes", kind: "long-text", label: "Notes" },
  { name: "share", kind: "number", label: "Share in percent", min: 0, max: 100 },
  { name: "urgent", kind: "boolean", label: "Urgent" },
  { name: "tone", kind: "select", label: "Tone", options: ["plain", "friendly", "formal", "loud"] },
  { name: "verdict", kind: "select", required: true, options: ["reject", "approve", "ask-for-changes"] },
];
const DETAIL = "## 2.14\n- Retry-After is read as a date too (!4182)\n- 日本語の通知が二重に届く問題を修正\n- مساعد الجدولة";
const ASK = {
  id: "ask",
  kind: "userTask",
  label: "Release notes",
  title: "Approve the notes of release 2.14",
  detail: DETAIL,
  assignee: "actor:anna",
  due: "2d",
  timeout: "3d",
  form: FORM,
  submitTransition: "{{ values.verdict }}",
};
const MANY = Array.from({ length: 299 }, (_, at) => ({ id: `step${at}`, kind: "set", label: `Step number ${at}`, value: at }));
const FLOWS: Readonly<Record<string, string>> = {
  release: flow(
    [ASK, ...["expired", "done", "again"].map((id) => ({ id, kind: "end", output: id }))],
    "start > ask, ask.approve > done, ask.ask-for-changes > again, ask.reject > expired, ask.timeout > expired",
  ),
  "review-and-release": flow(
    [
      { id: "check", kind: "branch", label: "Is it mergeable?", cases: [{ port: "mergeable", when: "{{ true }}" }] },
      { id: "author", kind: "set", label: "Ask the author", value: 1 },
      { id: "review", kind: "agent", label: "Review the change", message: "Please review !4182 次は承認です" },
      {
        id: "tell",
        kind: "action",
        label: "Tell the team",
        action: "file.read_lines",
        input: { path: "gone/team.txt" },
        retry: { attempts: 3, delay: "10ms" },
      },
      { id: "done", kind: "end", label: "End", output: "{{ in }}" },
    ],
    "start > check, check.mergeable > review, check.else > author, review > tell, tell > done",
    { tags: ["release", "nightly"], description: "Reviews a change and tells the team of it." },
  ),
  waits: flow(
    [
      { id: "split", kind: "set", value: 1 },
      { id: "person", kind: "userTask", label: "Approve the notes", title: `${LONG} مساعد الجدولة`, assignee: "role:release", timeout: "3d" },
      { id: "signal", kind: "waitSignal", label: "Wait for the build", signal: "built", timeout: "2h" },
      { id: "clock", kind: "timer", label: "Until tomorrow", for: "1d" },
      { id: "all", kind: "join" },
    ],
    "start > split, split > person, split > signal, split > clock, person > all, signal > all, clock > all",
  ),
  "nightly-triage-and-labelling-of-new-issues-in-every-repository": flow([{ id: "one", kind: "set", label: "標準のラベル", value: 1 }], "start > one"),
  "three-hundred": flow(MANY, ["start > step0", ...MANY.slice(1).map((_, at) => `step${at} > step${at + 1}`)].join(", "), { maxSteps: 1000 }),
};

/** What a full house may be asked for. */
export interface FullHouseOptions {
  /** Cards of the long board. Default 60. */
  readonly cards?: number;
  /** Tasks of earlier days. Default 300. */
  readonly tasks?: number;
}

/** A daemon in which every page has something to show. */
export interface FullHouse extends Dashboard {
  /** A task of an earlier day with a failed step. */
  readonly task: string;
  /** A run that failed, one that waits, and one of 300 steps. */
  readonly failed: string;
  readonly waiting: string;
}

async function startForge(cards: number) {
  const far = await startForgeA();
  for (const login of ["ada", "rita"]) far.addUser(login);
  far.addUser("svc", { bot: true });
  far.addToken(TOKEN, "svc");
  const labels = [...LABELS, "status::blocked", "bug", "area::web", LONG];
  const members = { ada: "write", rita: "write", svc: "write" } as const;
  for (const path of [APP, DEEP]) far.addProject(path, { private: true, members, labels });
  for (const [at, title] of TITLES.entries()) far.open("ada", APP, "issue", { title, labels: at % 2 === 0 ? ["bug"] : ["area::web", LONG] });
  for (const [at, label] of LABELS.entries()) far.open("rita", APP, "issue", { title: `Retry-After as a date is ignored, part ${at}`, labels: [label, "bug"] });
  far.open("rita", APP, "issue", { title: "Waits for upstream", labels: ["status::blocked"] });
  for (let n = 0; n < cards; n += 1) far.open("ada", DEEP, "issue", { title: `Card ${n} of a long board`, labels: [LABELS[n % 3] as string] });
  return far;
}

/** Starts it; it ends with the file's other daemons, its forge when `closed` says so. */
export async function startFullHouse({ cards = 60, tasks = 300 }: FullHouseOptions, closed: (close: () => Promise<void>) => void): Promise<FullHouse> {
  const far = await startForge(cards);
  closed(() => far.close());
  const port = await freePort();
  let ids: readonly string[] = [];
  const board = (id: string, name: string, project: string) => ({
    id,
    name,
    source: { type: "forge_a", projects: [project] },
    labels: [{ name: "bug", color: "#C2410C" }],
  });
  const at = await startDashboard({
    config: {
      agents: AGENTS,
      node: { id: "workshop", name: "workshop", bind: "127.0.0.1:0", defaultAgent: "reviewer" },
      workflows: { enabled: true },
      plugins: ["./asks.mjs"],
      channels: {
        forge_a: {
          enabled: true,
          host: far.url,
          webhookPort: port,
          webhookSecret: "a-secret-of-hooks",
          token: TOKEN,
          agentMappings: [{ agentId: "reviewer", forgeUsernames: ["svc"] }],
        },
        webrtc: { enabled: true, stunServers: [], bot: { enabled: true }, ringNotify: [{ channel: "chat", chatId: "1" }] },
      },
      calls: { allow: ["reviewer"] },
      boards: [board("team", "Frontend monorepo", APP), board("deep", "A board with a name that is long enough to be cut at its end", DEEP)],
      crons: {
        morning: { schedule: "0 9 * * 1-5", agent: "reviewer", prompt: "مساء الخير", enabled: true },
        "nightly-digest-of-everything-that-happened": { schedule: "*/5 0-4 1 */2 *", agent: "translator-cjk", prompt: "毎朝の要約", enabled: false },
        asked: {
          schedule: "30 6 * * 1",
          agent: "unbroken",
          prompt: "Good morning",
          enabled: true,
          approval: { action: "create", requestedBy: "reviewer", requestedAt: "2026-01-05T09:00:00.000Z" },
        },
      },
      webhooks: [
        { id: "ci", source: "ci", agentId: "reviewer" },
        { id: "shop", source: "shop", agentId: "unbroken", secretEnv: "SHOP_SECRET" },
      ],
      mesh: { enabled: false, peers: [{ name: "far", url: "http://127.0.0.1:9", token: "${FAR_TOKEN}" }] },
      providers: { main: { apiKey: "CANARY-full-house-secret-0001" } },
      business: { orgChart: { anna: { role: "lead", workingWindow: { start: "09:00", end: "17:00", days: ["mon", "tue"] } } } },
    },
    env: { FAR_TOKEN: "a-token-of-the-far-peer-0001", SHOP_SECRET: "a-secret-of-the-shop-0001" },
    files: { "asks.mjs": ASKS, ...Object.fromEntries(Object.entries(FLOWS).map(([id, text]) => [`.svc/workflows/${id}.json`, text])) },
    prepare: async (folder) => {
      ids = await pastDays(folder, tasks);
    },
  });
  const run = async (workflow: string) => (await at.api<{ runId: string }>("POST", `/workflows/${workflow}/run`, { payload: {} })).runId;
  const ask = (body: object) => fetch(`${at.daemon}/asks`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  for (const workflow of ["three-hundred", "release", "nightly-triage-and-labelling-of-new-issues-in-every-repository"]) await run(workflow);
  const waiting = await run("waits");
  const failed = await run("review-and-release");
  await ask({ kind: "job", title: "Run backup daily?", detail: "0 3 * * *\nAgent: echo", requestedBy: "agent echo" });
  await at.api("POST", "/api/admin/tokens", { name: "the tablet in the workshop", scopes: ["dashboard:read"] });
  await at.api("POST", "/api/chat/held", { text: "of a task that runs in every view", chat: "test" });
  for (;;) {
    const { status } = await at.api<{ status: string }>("GET", `/api/workflows/runs/${failed}`);
    if (status === "failed") break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const task = ids.findLast((_, n) => n % 5 === 0 && n % 23 !== 7 && n % 41 !== 3 && n % 61 !== 11) as string;
  return Object.assign(Object.create(null), {
    ...at,
    get process() {
      return at.process;
    },
    get daemon() {
      return at.daemon;
    },
    task,
    failed,
    waiting,
  });
}
