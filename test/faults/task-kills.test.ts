import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkflowRun } from "@svc/sdk";
import { afterEach, expect, it } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { ROOT } from "../house/house.ts";
import { freePort } from "../kit/free-port.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { ask, type DaemonProcess, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** More with SVC_SOAK. */
const ROUNDS = Number(process.env.SVC_SOAK ?? 3);
const BOSS = { id: 77, is_bot: false, first_name: "Ann" };
const GROUP = -2_078;
const FLOW = {
  id: "buy",
  nodes: [
    { id: "start", kind: "trigger" },
    { id: "ask", kind: "approval", title: "Buy {{ input.item }}?", assignee: "role:lead" },
    { id: "yes", kind: "end", output: "approve" },
    { id: "no", kind: "end", output: "reject" },
  ],
  edges: [
    { from: "start", to: "ask" },
    { from: "ask", fromPort: "approve", to: "yes" },
    { from: "ask", fromPort: "reject", to: "no" },
  ],
};

interface Detail extends WorkflowRun {
  readonly timeline: readonly { readonly kind: string; readonly port?: string }[];
}
interface Task {
  readonly id: string;
  readonly state: string;
  readonly completedBy?: string;
  readonly values?: { readonly decision?: string };
}

let api: BotApi;
afterEach(async () => {
  await endDaemons();
  await api.close();
});

async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (let patience = 0; patience < 600; patience += 1) {
    const found = await Promise.resolve(look()).catch(() => undefined);
    if (found !== undefined) return found;
    await pause(50);
  }
  throw new Error(`waited in vain for ${what}`);
}

/** The real command line in the folder. */
const svc = (folder: string, ...args: string[]): Promise<number | null> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), ...args], { cwd: folder, env: { ...process.env, SVC_CONFIG: "" }, stdio: "ignore" });
    child.on("close", resolve);
  });

const buttonsOf = (markup: unknown) =>
  ((markup as { inline_keyboard?: { text: string; callback_data: string }[][] } | undefined)?.inline_keyboard ?? []).flat();

it(`WF-08 FAULT-01 ${ROUNDS} times chat, page and command line answer a task at once, with a kill -9 in between: one answer counts and the run follows it`, {
  timeout: 60_000 + ROUNDS * 60_000,
}, async () => {
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(GROUP, "group", "the bosses");
  const folder = await temporaryFolder();
  const page = await freePort();
  mkdirSync(join(folder, ".svc/workflows"), { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, ".svc/workflows/buy.json"), JSON.stringify(FLOW));
  writeConfig(folder, {
    dashboard: { enabled: true, port: page },
    workflows: { enabled: true },
    approvals: { digest: { destination: { channel: "botmsg", chatId: String(GROUP) } }, allowFrom: [`botmsg:${BOSS.id}`] },
    channels: {
      botmsg: {
        enabled: true,
        apiRoot: api.root,
        accounts: { main: { token: TOKEN, agentBinding: "echo" } },
        policy: { group: "all", allowFrom: [String(GROUP)] },
      },
    },
  });
  let daemon: DaemonProcess = await startDaemon(folder);
  const won: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    const item = `pen-${round}`;
    const { runId } = (await ask<{ runId: string }>(daemon.port, "/workflows/buy/run", { item })).body;
    const tasks = () => ask<{ tasks: Task[] }>(daemon.port, `/api/workflows/tasks?run=${runId}`);
    const { id } = await until("the task", async () => (await tasks()).body.tasks[0]);
    const message = await until("the question", () => api.shown.findLast(({ text, markup }) => text.includes(`Buy ${item}?`) && buttonsOf(markup).length > 0));

    const line = svc(folder, "workflow", "submit", id, "decision=reject");
    // The command needs a moment to load: it gets a start in every third round.
    if (round % 3 === 2) await pause(900);
    api.press(TOKEN, { from: BOSS, message: message.id, data: buttonsOf(message.markup).find(({ text }) => text === "Approve")?.callback_data ?? "" });
    const posted = fetch(`http://127.0.0.1:${page}/api/workflows/tasks/${id}/submit`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ values: { decision: "reject", comment: "by the page" }, actor: "pat" }),
    }).then(
      ({ status }) => status,
      () => 0,
    );
    // From before anybody is heard to after all are.
    await pause((round * 37) % 400);
    await daemon.kill("SIGKILL");
    daemon = await startDaemon(folder);
    const [pageSaid, lineSaid] = await Promise.all([posted, line]);

    // Whom the kill has cut off asks again, as a person would; the press is handed out anew by the platform.
    const run = await until(`the end of run ${runId}`, async () => {
      const { body } = await ask<Detail>(daemon.port, `/api/workflows/runs/${runId}`);
      return body.status === "completed" ? body : undefined;
    });
    const task = (await ask<Task>(daemon.port, `/api/workflows/tasks/${id}`)).body;
    const submitted = run.timeline.filter(({ kind }) => kind === "task.submitted");
    expect(submitted, `round ${round}`).toHaveLength(1);
    expect(run.output).toBe(task.values?.decision);
    expect(submitted[0]?.port).toBe(task.values?.decision);
    expect(task.state).toBe("completed");
    // Who was told yes was the one who counted.
    if (pageSaid === 200) expect(task.completedBy).toBe("pat");
    if (lineSaid === 0) expect(task.completedBy).not.toBe("pat");
    const by = task.completedBy === "pat" ? "page" : task.completedBy?.includes("on botmsg") ? "chat" : "line";
    won[by] = (won[by] ?? 0) + 1;
    // Nothing stays open, on the chat either.
    await until("the end of the question", async () => {
      const { approvals } = (await ask<{ approvals: unknown[] }>(daemon.port, "/approvals?open=true")).body;
      return approvals.length === 0 || undefined;
    });
  }
  console.info(`${ROUNDS} rounds: ${JSON.stringify(won)}`);
});
