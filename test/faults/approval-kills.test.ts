import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Approval, ApprovalDecision } from "@svc/sdk";
import { afterAll, afterEach, expect, it } from "vitest";
import { type BotApi, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { freePort } from "../kit/free-port.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { openLines } from "../kit/lines.ts";
import { ask, type DaemonProcess, endDaemons, pause, startDaemon, writeConfig } from "./daemon.harness.ts";

/** More with SVC_ROUNDS. */
const ROUNDS = Number(process.env.SVC_ROUNDS ?? 4);
const BOSS = { id: 77, is_bot: false, first_name: "Ann" };
const GROUP = -2_077;

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

/** The command line in the folder. Its program is loaded once. */
const lines = openLines();
afterAll(() => lines.close());
async function svc(folder: string, ...args: string[]): Promise<{ readonly code: number | null; readonly said: string }> {
  const { code, out, err } = await lines.run(folder, args);
  return { code, said: out + err };
}

/** A daemon with a chat, a page and a plugin that asks, in a folder. */
async function setStage() {
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  api.addChat(GROUP, "group", "the bosses");
  const folder = await temporaryFolder();
  const page = await freePort();
  writeConfig(folder, {
    plugins: [join(import.meta.dirname, "asker.mjs")],
    dashboard: { enabled: true, port: page },
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
  const ledger = join(folder, "ledger.jsonl");
  const start = () => startDaemon(folder, { env: { SVC_TEST_LEDGER: ledger } });
  const handed = (id: string): ApprovalDecision[] =>
    existsSync(ledger)
      ? readFileSync(ledger, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as ApprovalDecision)
          .filter((decision) => decision.id === id)
      : [];
  return { folder, page, start, handed };
}

/** The message in the chat that asks this and has buttons. */
const shownQuestion = (action: string) =>
  until(`the question about ${action}`, () => api.shown.findLast(({ text, markup }) => text.includes(`Do ${action}`) && buttonsOf(markup).length > 0));
const buttonsOf = (markup: unknown) =>
  ((markup as { inline_keyboard?: { text: string; callback_data: string }[][] } | undefined)?.inline_keyboard ?? []).flat();

function press(message: { readonly id: number; readonly markup?: unknown }, label: string, data = buttonsOf(message.markup)): void {
  const button = data.find(({ text }) => text === label);
  api.press(TOKEN, { from: BOSS, message: message.id, data: button?.callback_data ?? "" });
}

const decided = (daemon: DaemonProcess, id: string) =>
  until(`a decision about ${id}`, async () => {
    const { approval } = (await ask<{ approval: Approval }>(daemon.port, `/approvals/${id}`)).body;
    return approval.decision;
  });
const effectsOf = async (daemon: DaemonProcess, id: string) =>
  (await ask<{ effects: { id: string; state: string; surface: string }[] }>(daemon.port, "/asker/effects")).body.effects.filter((effect) => effect.id === id);

it(`OPS-06 ${ROUNDS} times kill -9 between question and answer, then chat, page and command line answer at once: one effect, two are told`, {
  timeout: 60_000 + ROUNDS * 40_000,
}, async () => {
  const { folder, page, start, handed } = await setStage();
  let daemon = await start();
  for (let round = 0; round < ROUNDS; round += 1) {
    const action = `step-${round}`;
    const { id } = (await ask<{ id: string }>(daemon.port, "/asker/ask", { action })).body;
    // In every other round it is killed before it can have asked anybody.
    const early = round % 2 === 1;
    if (!early) await shownQuestion(action);
    await daemon.kill("SIGKILL");
    daemon = await start();
    expect((await ask<{ id: string }>(daemon.port, "/asker/ask", { action })).body.id, "the same question").toBe(id);
    const message = await shownQuestion(action);
    await until("the page", () => fetch(`http://127.0.0.1:${page}/api/approvals`).then(({ ok }) => ok || undefined));

    const line = svc(folder, "approval", "approve", id);
    // The command needs a moment to be heard and the chat to be asked for news: each gets a start in every third round.
    if (round % 3 === 2) await pause(300);
    press(message, "Reject");
    if (round % 3 === 1) await pause(30);
    const [posted, typed] = await Promise.all([
      fetch(`http://127.0.0.1:${page}/api/approvals/${id}/approve`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }).then(
        async (answer) => ({ status: answer.status, body: await answer.text() }),
      ),
      line,
    ]);
    const decision = await decided(daemon, id);
    const lost: string[] = [];
    if (decision.surface === "page") expect(posted.status).toBe(200);
    else lost.push(`${posted.status} ${posted.body}`);
    if (decision.surface === "command line") expect(typed.code).toBe(0);
    else lost.push(`${typed.code} ${typed.said}`);
    for (const said of lost) {
      expect(said).toMatch(/^(409|[1-9]\d*) /);
      expect(said).toContain(`${decision.state} by ${decision.by} on ${decision.surface}`);
    }
    // The chat is told by whom, whoever it was: the buttons are gone and the words stand there. A message that the daemon was killed in the
    // middle of sending may stand there twice: this platform knows no keys. The buttons of such a copy do nothing.
    await until(`the words about ${action} in the chat, which shows ${JSON.stringify(api.shown.map(({ id: shown, text }) => [shown, text]).slice(-4))}`, () =>
      api.shown.find(({ text, markup }) => text.includes(`Do ${action}`) && buttonsOf(markup).length === 0 && text.includes(String(decision.by))),
    );
    await until("the effect", async () => ((await effectsOf(daemon, id)).length > 0 ? true : undefined));
    expect(await effectsOf(daemon, id)).toMatchObject([{ state: decision.state, surface: decision.surface }]);
    expect(new Set(handed(id).map(({ state, surface }) => `${state} ${surface}`))).toEqual(new Set([`${decision.state} ${decision.surface}`]));
  }
});

it("OPS-06 an answer given on chat while the daemon is down counts after its start, and a kill right after it loses nothing", {
  timeout: 120_000,
}, async () => {
  const { start, handed } = await setStage();
  let daemon = await start();
  const { id } = (await ask<{ id: string }>(daemon.port, "/asker/ask", { action: "down" })).body;
  const message = await shownQuestion("down");
  await daemon.kill("SIGKILL");
  press(message, "Approve");
  daemon = await start();
  expect(await decided(daemon, id)).toMatchObject({ state: "approved", surface: "botmsg", by: "Ann (77)" });
  await daemon.kill("SIGKILL");
  daemon = await start();
  await until("the effect", async () => ((await effectsOf(daemon, id)).length > 0 ? true : undefined));
  expect(await effectsOf(daemon, id)).toMatchObject([{ state: "approved" }]);
  expect(handed(id).every(({ state }) => state === "approved")).toBe(true);
  await until("the words in the chat", () => api.shown.find(({ text }) => text.includes("Approved") && text.includes("Do down")));
});
