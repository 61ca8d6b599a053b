import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../contract/phonemsg.harness.ts";
import { endDaemons, startDaemon } from "../faults/daemon.harness.ts";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { lacking } from "../kit/phonemsg/library.ts";
import { type PhoneServer, startPhoneServer } from "../kit/phonemsg/server.ts";

let far: PhoneServer | undefined;
afterEach(async () => {
  await endDaemons();
  await far?.close();
  far = undefined;
});

/** Runs the program; `heard` is told all that it has said so far. */
function svc(
  folder: string,
  args: readonly string[],
  heard: (said: string) => void = () => {},
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), ...args], { cwd: folder, env: { ...process.env, SVC_CONFIG: "", ...env } });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        said += chunk;
        heard(said);
      });
    child.on("close", (code) => resolve({ code, said }));
  });
}

async function folderWith(plugins: readonly string[]): Promise<string> {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, "w"));
  const agents = { assistant: { name: "Assistant", workspace: "./w", tier: "local", local: { mode: "echo" } } };
  writeFileSync(join(folder, "svc.json"), JSON.stringify({ node: { id: "n", name: "N", bind: "127.0.0.1:0" }, agents, plugins }), { mode: 0o600 });
  return folder;
}

it("svc connect phonemsg without the package says why it is a package of its own before it installs it, and what the registry lacks", async () => {
  const folder = await folderWith([]);
  const before = readFileSync(join(folder, "svc.json"), "utf8");
  // No registry answers there.
  const { code, said } = await svc(folder, ["connect", "phonemsg", "--yes"], undefined, { npm_config_registry: "http://127.0.0.1:9/" });
  expect(code).not.toBe(0);
  expect(said).toContain("phonemsg is not installed. It is the package @svc/channel-phonemsg; it is a package of its own");
  expect(said).toContain("GPL-3.0");
  expect(said).toContain("the registry does not answer");
  expect(readFileSync(join(folder, "svc.json"), "utf8")).toBe(before);
});

describe.skipIf(lacking)("the package apart", { timeout: 180_000 }, () => {
  it("is connected in the terminal by a code, answers, shows its state, and is unlinked", async () => {
    const server = await startPhoneServer();
    far = server;
    const friend = server.accounts.add("491700000700", "Frieda");
    const folder = await folderWith([join(ROOT, "plugins/channels/phonemsg")]);
    let typed = false;
    const set = ["--set", "allow=+49 170 0000700", `number=+${server.own.number}`];
    const connected = await svc(folder, ["connect", "phonemsg", "--yes", "--agent", "assistant", "--server", server.url, ...set], (said) => {
      const code = /Type this code: (\w{4})-(\w{4})/.exec(said);
      if (code === null || typed) return;
      typed = true;
      void server.typeCode(`${code[1]}${code[2]}`);
    });
    expect(connected, connected.said).toMatchObject({ code: 0 });
    const { channels } = JSON.parse(readFileSync(join(folder, "svc.json"), "utf8"));
    expect(channels.phonemsg).toEqual({ enabled: true, defaultAgent: "assistant", allowFrom: ["+49 170 0000700"], server: server.url });
    const daemon = await startDaemon(folder);
    await server.say({ from: friend, text: "are you there?" });
    await until(() => server.chats.shown.length === 1, 60_000);
    expect(server.chats.shown[0]).toMatchObject({ chat: friend.number, text: "are you there?" });
    expect((await svc(folder, ["phonemsg", "status"])).said).toContain(`Linked: +${server.own.number}`);
    expect((await svc(folder, ["channel", "test", "phonemsg"])).said).toContain(`linked as +${server.own.number}`);
    const unpaired = await svc(folder, ["phonemsg", "unpair", "--yes"]);
    expect(unpaired, unpaired.said).toMatchObject({ code: 0 });
    expect((await svc(folder, ["channel", "list"])).said).toContain("svc phonemsg pair");
    await daemon.kill("SIGTERM");
    expect(daemon.said()).not.toMatch(/SessionEntry|privKey/);
  });
});
