import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { ask, type DaemonProcess, endDaemons } from "./daemon.harness.ts";
import { nodesBelow } from "./nodes.harness.ts";

let server: TestServer;
let folder: string | undefined;
/** The daemon of that name; started where it does not run. */
let node: (id: string) => Promise<DaemonProcess>;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
/** Tests share the two daemons: each has workflows and actions of its own. After a failure the next one has a world of its own. */
beforeEach(async () => {
  if (folder === undefined) await makeWorld();
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") await endWorld();
});
afterAll(async () => {
  await endWorld();
  await server?.stop();
});

async function makeWorld(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), "svc-node-files-"));
  const agents = { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo" } } };
  node = nodesBelow(folder, { agents, workflows: { enabled: true }, store: server.schema() });
}
async function endWorld(): Promise<void> {
  await endDaemons();
  if (folder !== undefined) await rm(folder, { recursive: true, maxRetries: 5 });
  folder = undefined;
}

const path = (node: string, ...below: string[]) => join(folder as string, node, ".svc", ...below);
const read = (node: string, ...below: string[]) => (existsSync(path(node, ...below)) ? readFileSync(path(node, ...below), "utf8") : undefined);
/** Those whose names begin like that. */
const files = (node: string, of: string, like = "") =>
  existsSync(path(node, of)) ? readdirSync(path(node, of)).filter((name) => name.startsWith(like) && !name.startsWith("_")) : [];
function write(node: string, of: string, name: string, text: string): void {
  mkdirSync(path(node, of), { recursive: true, mode: 0o700 });
  writeFileSync(path(node, of, name), text, { mode: 0o600 });
}
/** A workflow that answers with this text. */
const workflow = (text: string) => `# as its author wrote it
nodes:
  - {id: start, kind: trigger}
  - {id: done, kind: end, output: ${text}}
edges:
  - {from: start, to: done}
`;
const action = (text: string) => JSON.stringify({ title: "Say", kind: "shell", command: `echo ${text}`, inputs: [] });

async function put(to: DaemonProcess, id: string, text: string, etag?: string) {
  const headers = { "content-type": "application/json", ...(etag === undefined ? {} : { "if-match": etag }) };
  const response = await fetch(`http://127.0.0.1:${to.port}/api/workflows/${id}/text`, { method: "PUT", headers, body: JSON.stringify({ text }) });
  return { status: response.status, etag: response.headers.get("etag") ?? "", body: (await response.json()) as { readonly code?: string } };
}
const text = (of: DaemonProcess, id: string) => ask<{ readonly text?: string; readonly etag?: string }>(of.port, `/api/workflows/${id}/text`);
async function outputOf(at: DaemonProcess, id: string): Promise<unknown> {
  const started = await ask<{ readonly runId: string }>(at.port, `/workflows/${id}/run`, { payload: {} });
  expect(started.status, JSON.stringify(started.body)).toBe(202);
  const run = async () => (await ask<{ readonly status: string; readonly output?: unknown }>(at.port, `/api/workflows/runs/${started.body.runId}`)).body;
  await expect.poll(async () => (await run()).status).toBe("completed");
  return (await run()).output;
}
const says = async (at: DaemonProcess, id: string) => JSON.stringify((await ask(at.port, `/api/actions/${id}/run`, {})).body);

describe.skipIf(NO_POSTGRES !== undefined)("files of two daemons on one schema", { timeout: 120_000 }, () => {
  it("actions of the operator are the same; what differs from the start loses nothing and is told", async () => {
    // First: its files are there before the daemons.
    write("n1", "actions", "say.json", action("one"));
    write("n2", "actions", "say.json", action("two"));
    write("n2", "actions", "own.json", action("own"));
    const one = await node("n1");
    const two = await node("n2");
    expect(await says(two, "say")).toContain("one");
    await expect.poll(() => says(one, "own")).toContain("own");
    const [aside = ""] = readdirSync(path("n2", "actions", "_conflicts"));
    expect(read("n2", "actions", "_conflicts", aside)).toBe(action("two"));
    await expect.poll(async () => JSON.stringify((await ask(two.port, "/events/recent?limit=1000")).body)).toContain("operator-actions:conflict");
    // What others on the machine can write is neither run nor handed on.
    write("n1", "actions", "say.json", action("changed"));
    await expect.poll(() => says(two, "say")).toContain("changed");
    rmSync(path("n1", "actions"), { recursive: true });
    // A folder that is gone removes nothing from the others.
    await expect.poll(() => files("n1", "actions")).toEqual(["own.json", "say.json"]);
    expect(await says(two, "say")).toContain("changed");
  });

  it("a workflow that is saved at one runs at the other, with its author's comments; one that is removed is gone at both", async () => {
    const [one, two] = [await node("n1"), await node("n2")];
    expect((await put(one, "greet", workflow("hello"))).status).toBe(201);
    // At once: who is asked for one that it does not know looks.
    expect(await outputOf(two, "greet")).toBe("hello");
    expect(read("n2", "workflows", "greet.yaml")).toBe(workflow("hello"));
    // By hand, on the machine of the other one.
    writeFileSync(path("n2", "workflows", "greet.yaml"), workflow("again"));
    await expect.poll(async () => (await text(one, "greet")).body.text).toBe(workflow("again"));
    expect(await outputOf(one, "greet")).toBe("again");
    await put(one, "greet-too", workflow("x"));
    await expect.poll(() => files("n2", "workflows", "greet")).toEqual(["greet-too.yaml", "greet.yaml"]);
    rmSync(path("n2", "workflows", "greet-too.yaml"));
    await expect.poll(async () => (await text(one, "greet-too")).status).toBe(404);
    expect(files("n1", "workflows", "greet")).toEqual(["greet.yaml"]);
  });

  it("of two that save from the same text the second is refused with 412, and nothing is lost", async () => {
    const [one, two] = [await node("n1"), await node("n2")];
    await put(one, "twice", workflow("first"));
    await expect.poll(async () => (await text(two, "twice")).body.text).toBe(workflow("first"));
    const [mine, theirs] = [(await text(one, "twice")).body.etag, (await text(two, "twice")).body.etag];
    expect(mine).toBe(theirs);
    const [saved, refused] = [await put(one, "twice", workflow("one"), mine), await put(two, "twice", workflow("two"), theirs)];
    expect(saved.status).toBe(200);
    expect(refused).toMatchObject({ status: 412, body: { code: "SVC_WORKFLOW_CHANGED" } });
    await expect.poll(async () => [(await text(one, "twice")).body.text, (await text(two, "twice")).body.text]).toEqual([workflow("one"), workflow("one")]);
    // At the same moment one is first.
    const { etag } = saved;
    const both = await Promise.all([put(one, "twice", workflow("left"), etag), put(two, "twice", workflow("right"), etag)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
    const winner = workflow(both[0].status === 200 ? "left" : "right");
    await expect.poll(async () => [(await text(one, "twice")).body.text, (await text(two, "twice")).body.text]).toEqual([winner, winner]);
  });

  it("a draft is the other's, too, and promoted there", async () => {
    const [one, two] = [await node("n1"), await node("n2")];
    write("n1", "workflows/_drafts", "idea.yaml", workflow("idea"));
    await expect.poll(async () => JSON.stringify((await ask(two.port, "/api/workflows/drafts")).body)).toContain('"idea"');
    expect((await ask(two.port, "/api/workflows/drafts/idea/promote", {})).status).toBe(200);
    await expect.poll(async () => (await text(one, "idea")).status).toBe(200);
    expect(await outputOf(one, "idea")).toBe("idea");
    await expect.poll(() => read("n1", "workflows/_drafts", "idea.yaml")).toBeUndefined();
  });

  it("what was changed while a daemon was down is compared at its start, also where the database was away", async () => {
    const one = await node("n1");
    const two = await node("n2");
    await put(one, "away", workflow("first"));
    await put(one, "away-too", workflow("gone"));
    await expect.poll(() => files("n2", "workflows", "away")).toEqual(["away-too.yaml", "away.yaml"]);
    await two.kill("SIGKILL");
    rmSync(path("n1", "workflows", "away-too.yaml"));
    const { etag } = await put(one, "away", workflow("second"), (await text(one, "away")).body.etag);
    expect(etag).not.toBe("");
    await expect.poll(async () => (await text(one, "away-too")).status).toBe(404);
    await server.down();
    expect((await put(one, "away", workflow("third"), etag)).status).toBe(503);
    expect(read("n1", "workflows", "away.yaml")).toBe(workflow("second"));
    await server.up();
    const again = await node("n2");
    expect(files("n2", "workflows", "away")).toEqual(["away.yaml"]);
    expect(await outputOf(again, "away")).toBe("second");
  });
});
