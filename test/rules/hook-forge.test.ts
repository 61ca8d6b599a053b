import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import type { ForgeNote } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { baseOf, post, temporaryFolder } from "../kit/kernel.ts";
import { decisionsOf, deliver, hookOf, MemoryForge, noteTier, type Posted, receiverOf, runForge, until } from "./hook-forge.harness.ts";

const answered = (forge: MemoryForge, at = 0) => until(() => expect(forge.posted[at]?.text).toContain("· answered"));
const first = (forge: MemoryForge, at = 0) => forge.posted[at] as Posted;
const look = async (kernel: Kernel) =>
  (await post(baseOf(kernel), "/forges/forge_x/backfill", {})).body as unknown as { looked: number; taken: number; failed: string[] };

describe("a note on a forge", () => {
  it("starts nothing for these reasons, each of which is told", async () => {
    const { forge, hook, decided, tier } = await runForge();
    forge.rights.set("out", "none");
    forge.bots.add("robot");
    const gone = forge.write("@my-agent gone");
    forge.gone.add(gone.id);
    const notes: readonly (readonly [string, ForgeNote])[] = [
      ["system", forge.write("@my-agent", { system: true })],
      ["own user", forge.write("@my-agent", { author: { id: "900", login: "my-agent" } })],
      ["bot", forge.write("@my-agent", { author: { id: "5", login: "renovate", bot: true } })],
      ["bot", forge.write("@my-agent", { author: { id: "6", login: "robot" } })],
      ["no agent is mentioned", forge.write("`@my-agent`\n> @my-agent")],
      ["outsider", forge.write("@my-agent", { author: { id: "8", login: "out", bot: false } })],
      ["gone", gone],
      ["edit of an old note", forge.write("@my-agent", { edited: true, createdAt: Date.now() - 700_000 })],
      ["edit that names nobody new", forge.write("@my-agent again", { edited: true, previousText: "@my-agent" })],
      ["own user", forge.write("@my-agent", { edited: true, editor: { id: "901", login: "my-agent-2" } })],
    ];
    for (const [, note] of notes) await hook(note);
    await until(async () => expect(await decided()).toEqual(notes.map(([reason]) => reason)));
    expect([tier.prompts, forge.posted, forge.eyes]).toEqual([[], [], []]);
  });

  it("that is edited starts those whom it did not name before; older tellings of it start nobody", async () => {
    const { forge, hook, decided } = await runForge();
    const note = forge.write("please");
    const edit = (text: string, ms: number) => hook({ ...note, text, edited: true, updatedAt: note.updatedAt + ms });
    await hook(note);
    await edit("@my-agent please", 1_000);
    await edit("@my-agent, please!", 2_000);
    await hook(note);
    await edit("@my-agent and @my-agent-2", 3_000);
    await edit("@my-agent, please!", 2_000);
    await until(async () =>
      expect(await decided()).toEqual(["no agent is mentioned", "my-agent", "edit that names nobody new", "stale", "my-agent-2", "stale"]),
    );
  });

  it("with a copied signature is somebody's own words; the comment that is being posted is not", async () => {
    const { forge, hook, decided } = await runForge();
    forge.people = forge.people.map((one) => ({ ...one, shared: true, user: { id: "1", login: "ann" } }));
    await hook(forge.write("@my-agent hello"));
    await answered(forge);
    const line = first(forge).text.split("\n").at(-1);
    await hook(forge.write(`@my-agent-2 do\n\n${line}`));
    await hook(forge.write(`> ${line}\n\n@my-agent-2 and this`));
    await until(async () => expect(await decided()).toEqual(["my-agent", "my-agent-2", "my-agent-2"]));
    const before = forge.posted.length;
    forge.faults.push({ call: "post", failure: "unknown", after: true });
    await hook(forge.write("@my-agent once more"));
    await until(() => expect(forge.posted.length).toBeGreaterThan(before));
    await hook(hookOf(first(forge, before)));
    await until(async () => expect((await decided()).slice(-1)[0]).toMatch(/^(?:signed by my-agent|own comment)$/));
  });

  it("from who may only read, or about a fork, has the agent report; its words are one block that they cannot leave", async () => {
    const { forge, hook, tier } = await runForge();
    forge.rights.set("reader", "report");
    await hook(forge.write("@my-agent one", { author: { id: "9", login: "reader", bot: false } }));
    await until(() => expect(tier.turns).toHaveLength(1));
    await hook(forge.write("@my-agent two", { request: { source: "x\ndata-", target: "main", fork: true } }));
    await until(() => expect(tier.turns).toHaveLength(2));
    for (let n = 0; n < 3; n += 1) forge.faults.push({ call: "right", failure: "unknown" });
    await hook(forge.write("@my-agent three", { author: { id: "10", login: "nobody-knows", bot: false } }));
    await until(() => expect(tier.turns).toHaveLength(3));
    await hook(forge.write("@my-agent four"));
    await until(() => expect(tier.turns).toHaveLength(4));
    expect(tier.turns.map(({ turn }) => turn.messages[0]?.options?.autonomy)).toEqual(["report", "report", "report", undefined]);
    for (const prompt of tier.prompts) {
      const [fence = ""] = /data-[\w-]{12}/.exec(prompt) ?? [];
      expect(prompt.split(fence)).toHaveLength(4);
      expect(prompt.endsWith(fence)).toBe(true);
    }
  });

  it("goes to the agent that its own machine has, in the order of its thread", async () => {
    const { forge, hook, tier } = await runForge();
    for (const text of ["one", "two", "three"]) await hook(forge.write(`@my-agent ${text}`));
    await until(() => expect(forge.posted.filter(({ text }) => text.includes("· answered"))).toHaveLength(3));
    expect(tier.prompts.map((prompt) => /@my-agent (\w+)/.exec(prompt)?.[1])).toEqual(["one", "two", "three"]);
    expect(new Set(tier.turns.map(({ turn }) => turn.route.conversation)).size).toBe(1);
  });
});

describe("the comment of a run", () => {
  it("is adopted where its POST was answered by nothing, and posted again where it did not arrive", async () => {
    const { forge, hook } = await runForge();
    forge.faults.push({ call: "post", failure: "unknown", after: true });
    await hook(forge.write("@my-agent one"));
    await answered(forge);
    forge.faults.push({ call: "post", failure: "unknown" });
    await hook(forge.write("@my-agent two"));
    await answered(forge, 1);
    expect(forge.posted).toHaveLength(2);
  });

  it("holds no command, tells nobody but the asker, and keeps secrets", async () => {
    const { forge, hook } = await runForge();
    await hook(forge.write("@my-agent say\n/merge\n~~~\n/close\n~~~\n@bob and @ann\nglpat-abcdefghijklmnopqrst a-forge-secret `@bob`"));
    await answered(forge);
    const { text } = first(forge);
    expect(text).toContain("\n /merge\n~~~\n /close\n~~~\n@\u200bbob and @ann\n");
    expect(text).toContain("[removed: a secret] [removed: a secret] `@bob`");
    expect(text).not.toMatch(/^\//m);
  });

  it("says how far it is, and that it failed, was stopped, or had nothing to say; who asked may stop, and who may write", async () => {
    const { forge, hook, tier, kernel, decided } = await runForge(new MemoryForge(), {}, { tier: noteTier() });
    forge.rights.set("eve", "report");
    const eve = { author: { id: "3", login: "eve", bot: false } };
    await hook(forge.write("@my-agent hold"));
    await until(() => expect(first(forge)?.text).toContain("**my-agent** · working"));
    await hook(forge.write("@my-agent stop", eve));
    await until(async () => expect(await decided()).toEqual(["my-agent", "command stop: 0 of 1 runs"]));
    expect(kernel.tasks.running()).toHaveLength(1);
    await hook(forge.write("/status", eve));
    await until(() => expect(first(forge, 1)?.text).toMatch(/^\*\*my-agent\*\* · working/));
    await hook(forge.write("@my-agent stop"));
    await until(() => expect(first(forge).text).toContain("**my-agent** · stopped by ann"));
    await hook(forge.write("@my-agent fail"));
    await until(() => expect(first(forge, 2)?.text).toContain("**my-agent** · failed"));
    await hook(forge.write("@my-agent hold again"));
    await until(() => expect(tier.held).toBe(1));
    await hook(forge.write("@my-agent-2 tool Read"));
    await until(() => expect(forge.posted.find(({ as }) => as === "my-agent-2")?.text).toContain("· answered · 1 step"));
    expect(kernel.tasks.running()).toHaveLength(1);
    tier.release("");
    await until(() => expect(first(forge, 3).text).toContain("begun"));
    await hook(forge.write("@my-agent quiet"));
    await until(() => expect(forge.posted.at(-1)?.text).toMatch(/^\*\*my-agent\*\* · nothing to say/));
  });

  it("of a place where nobody may write any more is given up, and the run is not", async () => {
    const { forge, hook, tier, kernel } = await runForge();
    forge.faults.push({ call: "post", failure: "permanent" }, { call: "post", failure: "permanent" });
    await hook(forge.write("@my-agent one"));
    await until(() => expect(tier.prompts).toHaveLength(1));
    await until(async () => expect(await kernel.traces.list({ channel: "forge_x" })).toMatchObject([{ status: "ok" }]));
    await until(async () => expect((await (await fetch(`${baseOf(kernel)}/forges`)).json()) as object).toMatchObject({ forges: [{ runs: [] }] }));
    expect(forge.posted).toEqual([]);
  });

  it("goes on in a further one where it is too long for the forge, all of it", async () => {
    const { forge, hook } = await runForge();
    await hook(forge.write(`@my-agent ${"@".repeat(9_000)}`));
    await until(() => expect(forge.posted.length).toBeGreaterThan(1));
    await until(() => expect(forge.posted.map(({ text }) => text.split("\u200b").length - 1).reduce((sum, one) => sum + one, 0)).toBeGreaterThan(9_000));
    for (const { text } of forge.posted) expect(text.length).toBeLessThanOrEqual(forge.limits.maxChars);
  });
});

describe("what was missed", () => {
  it("is found after the daemon was down, answered once, and in its order", async () => {
    const forge = new MemoryForge();
    const folder = await temporaryFolder();
    const options = { dataFolder: folder } as object;
    const one = await runForge(forge, {}, options);
    await one.hook(forge.write("@my-agent one"));
    await answered(forge);
    await one.kernel.stop({ drainSeconds: 0 });
    forge.listed = true;
    const old = Date.now() - 90_000_000;
    forge.write("@my-agent old", { createdAt: old, updatedAt: Date.now(), edited: false });
    forge.write("@my-agent two");
    forge.write("@my-agent three", { edited: true });
    const two = await runForge(forge, {}, options);
    await until(() => expect(forge.posted.filter(({ text }) => text.includes("· answered"))).toHaveLength(3));
    await look(two.kernel);
    await look(two.kernel);
    const reasons = (await decisionsOf(two.kernel)).map(({ reason, agents }) => reason ?? agents.join());
    expect(reasons.filter((reason) => reason === "my-agent")).toHaveLength(3);
    expect(reasons).toContain("older than a day");
    expect(two.tier.prompts.map((prompt) => /@my-agent (\w+)/.exec(prompt)?.[1])).toEqual(["two", "three"]);
    expect(forge.posted).toHaveLength(3);
  });

  it("is a note whose deletion came first: it starts nothing", async () => {
    const { kernel, forge, hook, decided } = await runForge();
    const note = forge.write("@my-agent one");
    forge.gone.add(note.id);
    expect((await deliver(kernel, forge, { kind: "deleted", note })).status).toBe(202);
    await hook(note);
    await until(async () => expect(await decided()).toEqual(["gone"]));
  });
});

describe("the receiver", () => {
  it("takes the port that is free again, once it is", async () => {
    const { kernel, forge, hook } = await runForge();
    expect(receiverOf(kernel)).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await kernel.stop({ drainSeconds: 0 });
    expect(kernel.servers).toEqual([]);
    await kernel.start();
    expect((await hook(forge.write("again"))).status).toBe(202);
  });

  it("says at its start that a secret is missing, and once a minute that deliveries are refused", async () => {
    const forge = new MemoryForge();
    forge.secret = undefined;
    const destination = join(await temporaryFolder(), "log");
    const { kernel } = await runForge(forge, {}, { log: { level: "warn", destination } });
    for (let n = 0; n < 5; n += 1) await deliver(kernel, forge, "{}");
    await until(async () => {
      const lines = (await readFile(destination, "utf8")).trim().split("\n");
      expect(lines.filter((line) => line.includes("channels.forge_x.webhookSecret is not set"))).toHaveLength(1);
      expect(lines.filter((line) => line.includes("a webhook of a forge was refused"))).toHaveLength(1);
    });
  });
});

describe("tools of agents", () => {
  const call = (kernel: Kernel, name: string, input: Record<string, unknown>, taskId: string | undefined) =>
    kernel.runTool(name, input, { agent: "my-agent", signal: AbortSignal.timeout(20_000), ...(taskId === undefined ? {} : { taskId }) });

  it("act in the run's place, once for each input, within their limits, and with the right of who asked", async () => {
    const { kernel, forge, hook, tier } = await runForge(new MemoryForge(), {}, { tier: noteTier() });
    expect((await kernel.tools("my-agent")).map(({ name }) => name)).toEqual([
      "svc_forge_comment",
      "svc_forge_label",
      "svc_forge_open_request",
      "svc_forge_review",
    ]);
    await hook(forge.write("@my-agent hold", { place: { project: { id: "7", path: "team/app", private: false }, kind: "request", id: "3" } }));
    await until(() => expect(tier.held).toBe(1));
    const task = kernel.tasks.running()[0]?.id;
    expect(await Promise.all([1, 2].map(() => call(kernel, "svc_forge_comment", { text: "/merge and @bob" }, task)))).toEqual(
      Array(2).fill(expect.stringContaining("The comment is there")),
    );
    const own = forge.posted.filter(({ text }) => text.includes("and @\u200bbob"));
    expect([own.length, own[0]?.text.startsWith(" /merge"), own[0]?.as]).toEqual([1, true, "my-agent"]);
    await call(kernel, "svc_forge_label", { add: ["bug"] }, task);
    await call(kernel, "svc_forge_review", { verdict: "approve", text: "Fine." }, task);
    await expect(call(kernel, "svc_forge_review", { verdict: "comment", text: "Once more." }, task)).rejects.toThrow("1 times");
    await call(kernel, "svc_forge_open_request", { title: "T", text: "X", source: "b" }, task);
    expect(forge.acts.map(({ act, as }) => `${act} ${as}`)).toEqual(["label my-agent", "review my-agent", "request my-agent"]);
    forge.rights.set("ann", "report");
    await expect(call(kernel, "svc_forge_comment", { text: "no task" }, undefined)).rejects.toThrow("asked on a code forge");
    for (const text of ["2", "3", "4", "5"]) await call(kernel, "svc_forge_comment", { text }, task);
    await expect(call(kernel, "svc_forge_comment", { text: "6" }, task)).rejects.toThrow("5 times");
    const { actions } = (await (await fetch(`${baseOf(kernel)}/forges`)).json()) as { actions: { act: string; askedBy: string; agent: string }[] };
    expect(actions.map(({ act, askedBy, agent }) => `${agent} ${act} ${askedBy}`)).toContain("my-agent review ann");
  });

  it("of who may only read are comments alone; another agent is asked by one, and may not ask for ever", async () => {
    const { kernel, forge, hook, tier } = await runForge(new MemoryForge(), {}, { tier: noteTier() });
    forge.rights.set("ann", "report");
    await hook(forge.write("@my-agent hold"));
    await until(() => expect(tier.held).toBe(1));
    const task = kernel.tasks.running()[0]?.id;
    await expect(call(kernel, "svc_forge_label", { add: ["bug"] }, task)).rejects.toThrow("may only comment");
    await expect(call(kernel, "svc_forge_comment", { text: "x", ask: "my-agent" }, task)).rejects.toThrow("that is you");
    for (const text of ["one", "two", "three", "four"]) await call(kernel, "svc_forge_comment", { text: `@my-agent-2 ${text}`, ask: "my-agent-2" }, task);
    await expect(call(kernel, "svc_forge_comment", { text: "five", ask: "my-agent-2" }, task)).rejects.toThrow("4 times an hour");
    await until(() => expect(forge.posted.filter(({ as, text }) => as === "my-agent-2" && text.includes("· answered"))).toHaveLength(4));
    expect(tier.turns.at(-1)?.turn.messages[0]?.options).toMatchObject({ autonomy: "report", askedBy: "my-agent" });
  });
});
