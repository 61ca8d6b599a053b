import { type ChildProcess, fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type BotApi, type Shown, startBotApi } from "../../plugins/channels/botmsg/bot-api.harness.ts";
import { TOKEN } from "../../plugins/channels/botmsg/botmsg.harness.ts";
import { temporaryFolder } from "../kit/kernel.ts";

const CHATS = Array.from({ length: 10 }, (_, n) => -4_000 - n);
/** After every second question; after each with SVC_SOAK. */
const EVERY = process.env.SVC_SOAK === undefined ? 2 : 1;
const KILLS = CHATS.length / EVERY;
const PEOPLE = [71, 72, 73].map((id) => ({ id, is_bot: false, first_name: `P${id}` }));

let daemon: ChildProcess;
let api: BotApi;
afterEach(async () => {
  await kill();
  await api.close();
});

const kill = () =>
  new Promise<void>((resolve) => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return resolve();
    daemon.removeAllListeners("exit");
    daemon.once("exit", () => resolve());
    daemon.kill("SIGKILL");
  });

interface Button {
  readonly text: string;
  readonly callback_data: string;
}
const buttonsOf = ({ markup }: Shown): readonly Button[] => (markup as { inline_keyboard?: Button[][] } | undefined)?.inline_keyboard?.flat() ?? [];

it(`K27 FAULT-01 ${CHATS.length} questions, three people pressing at once, ${KILLS} kills: one answer counts for each, and its message shows it`, {
  timeout: 240_000,
}, async () => {
  api = await startBotApi();
  api.addBot(TOKEN, 42, "helper_bot");
  for (const chat of CHATS) api.addChat(chat, "group", `chat ${chat}`);
  const folder = await temporaryFolder();
  const config = join(folder, "svc.json");
  const botmsg = {
    enabled: true,
    apiRoot: api.root,
    accounts: { main: { token: TOKEN, agentBinding: "a" } },
    policy: { group: "all", allowFrom: CHATS.map(String) },
  };
  await writeFile(
    config,
    JSON.stringify({
      node: { id: "n1", name: "Node 1" },
      agents: { a: { name: "A", workspace: folder, tier: "local", local: { mode: "echo" } } },
      resume: { maxAttempts: 50, crashLoop: { restarts: 100, windowMinutes: 1 } },
      channels: { botmsg },
    }),
    { mode: 0o600 },
  );
  let errors = "";
  const start = () =>
    new Promise<void>((resolve, reject) => {
      daemon = fork(join(import.meta.dirname, "choice-daemon.mjs"), [config, ...CHATS.map(String)], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
      daemon.stderr?.on("data", (chunk) => (errors += chunk));
      daemon.once("message", () => resolve());
      daemon.once("exit", (code) => reject(new Error(`the daemon ended with ${code} before it was ready:\n${errors}`)));
    });
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 3));
  };
  const shownIn = (chat: number) => api.shown.filter((shown) => shown.chat === chat);

  await start();
  await until(() => CHATS.every((chat) => shownIn(chat).length > 0));
  for (const [n, chat] of CHATS.entries()) {
    const [asked] = shownIn(chat);
    const [yes, no] = buttonsOf(asked as Shown);
    // Each on its own; the first and the last also while the daemon is down.
    for (const [at, from] of PEOPLE.entries())
      api.press(TOKEN, { from, message: asked?.id as number, data: ((n + at) % 2 === 0 ? yes : no)?.callback_data as string });
    await new Promise((resolve) => setTimeout(resolve, (n * 7) % 40));
    if (n % EVERY !== 0) continue;
    await kill();
    await start();
  }
  const decided = (chat: number) => shownIn(chat).filter(({ text }) => / by 7[123]$/.test(text));
  await until(() => CHATS.every((chat) => decided(chat).length > 0) && api.unconfirmed(TOKEN) === 0);
  await until(() => CHATS.every((chat) => decided(chat).every((shown) => buttonsOf(shown).length === 0)));

  for (const chat of CHATS) {
    const words = new Set(decided(chat).map(({ text }) => text));
    expect([...words], `chat ${chat}`).toHaveLength(1);
    // The first who pressed is the first that the daemon hears: the platform hands presses out in order, also over a kill.
    expect([...words][0]).toBe(`Question to ${chat}\n\n${CHATS.indexOf(chat) % 2 === 0 ? "yes" : "no"} by 71`);
    // No agent has seen any of it.
    expect(
      shownIn(chat).every(({ text }) => text.startsWith(`Question to ${chat}`)),
      JSON.stringify(shownIn(chat)),
    ).toBe(true);
  }
  // A second and a third press are told how it ended, unless the daemon was killed before it had said so.
  const told = api.answers.filter(({ text }) => text?.startsWith("This can no longer be answered here"));
  expect(told.every(({ alert }) => alert)).toBe(true);
  console.info(`${CHATS.length} questions, ${KILLS} kills: ${api.answers.length} presses answered, ${told.length} of them as too late`);
});
