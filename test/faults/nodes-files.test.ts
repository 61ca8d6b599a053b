import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { ask, type DaemonProcess, endDaemons, startDaemon, writeConfig } from "./daemon.harness.ts";

let server: TestServer;
let folder: string;
let store: { readonly url: string; readonly schema: string };
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  if (NO_POSTGRES === undefined) store = server.schema();
  folder = await mkdtemp(join(tmpdir(), "svc-node-files-"));
});
afterEach(async () => {
  await endDaemons();
  await rm(folder, { recursive: true, maxRetries: 5 });
});

const path = (node: string, ...below: string[]) => join(folder, node, ".svc", ...below);
const read = (node: string, ...below: string[]) => (existsSync(path(node, ...below)) ? readFileSync(path(node, ...below), "utf8") : undefined);
const files = (node: string, of: string) => (existsSync(path(node, of)) ? readdirSync(path(node, of)).filter((name) => /^[^_]/.test(name)) : []);
function write(node: string, of: string, name: string, text: string): void {
  mkdirSync(path(node, of), { recursive: true, mode: 0o700 });
  writeFileSync(path(node, of, name), text, { mode: 0o600 });
}
async function start(id: string): Promise<DaemonProcess> {
  const own = join(folder, id);
  mkdirSync(own, { recursive: true });
  const agents = { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo" } } };
  writeConfig(own, { node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "echo" }, agents, workflows: { enabled: true }, store });
  return startDaemon(own);
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
  it("a workflow that is saved at one runs at the other, with its author's comments; one that is removed is gone at both", async () => {
    const [one, two] = [await start("n1"), await start("n2")];
    expect((await put(one, "greet", workflow("hello"))).status).toBe(201);
    // At once: who is asked for one that it does not know looks.
    expect(await outputOf(two, "greet")).toBe("hello");
    expect(read("n2", "workflows", "greet.yaml")).toBe(workflow("hello"));
    // By hand, on the machine of the other one.
    writeFileSync(path("n2", "workflows", "greet.yaml"), workflow("again"));
    await expect.poll(async () => (await text(one, "greet")).body.text).toBe(workflow("again"));
    expect(await outputOf(one, "greet")).toBe("again");
    await put(one, "other", workflow("x"));
    await expect.poll(() => files("n2", "workflows")).toEqual(["greet.yaml", "other.yaml"]);
    rmSync(path("n2", "workflows", "other.yaml"));
    await expect.poll(async () => (await text(one, "other")).status).toBe(404);
    expect(files("n1", "workflows")).toEqual(["greet.yaml"]);
  });

  it("of two that save from the same text the second is refused with 412, and nothing is lost", async () => {
    const [one, two] = [await start("n1"), await start("n2")];
    await put(one, "greet", workflow("first"));
    await expect.poll(async () => (await text(two, "greet")).body.text).toBe(workflow("first"));
    const [mine, theirs] = [(await text(one, "greet")).body.etag, (await text(two, "greet")).body.etag];
    expect(mine).toBe(theirs);
    const [saved, refused] = [await put(one, "greet", workflow("one"), mine), await put(two, "greet", workflow("two"), theirs)];
    expect(saved.status).toBe(200);
    expect(refused).toMatchObject({ status: 412, body: { code: "SVC_WORKFLOW_CHANGED" } });
    await expect.poll(async () => [(await text(one, "greet")).body.text, (await text(two, "greet")).body.text]).toEqual([workflow("one"), workflow("one")]);
    // At the same moment one is first.
    const { etag } = saved;
    const both = await Promise.all([put(one, "greet", workflow("left"), etag), put(two, "greet", workflow("right"), etag)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
    const winner = workflow(both[0].status === 200 ? "left" : "right");
    await expect.poll(async () => [(await text(one, "greet")).body.text, (await text(two, "greet")).body.text]).toEqual([winner, winner]);
  });

  it("a draft is the other's, too, and promoted there", async () => {
    const [one, two] = [await start("n1"), await start("n2")];
    write("n1", "workflows/_drafts", "idea.yaml", workflow("idea"));
    await expect.poll(async () => JSON.stringify((await ask(two.port, "/api/workflows/drafts")).body)).toContain('"idea"');
    expect((await ask(two.port, "/api/workflows/drafts/idea/promote", {})).status).toBe(200);
    await expect.poll(async () => (await text(one, "idea")).status).toBe(200);
    expect(await outputOf(one, "idea")).toBe("idea");
    await expect.poll(() => read("n1", "workflows/_drafts", "idea.yaml")).toBeUndefined();
  });

  it("actions of the operator are the same; what differs from the start loses nothing and is told", async () => {
    write("n1", "actions", "say.json", action("one"));
    write("n2", "actions", "say.json", action("two"));
    write("n2", "actions", "own.json", action("own"));
    const one = await start("n1");
    const two = await start("n2");
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

  it("what was changed while a daemon was down is compared at its start, also where the database was away", async () => {
    const one = await start("n1");
    const two = await start("n2");
    await put(one, "greet", workflow("first"));
    await put(one, "gone", workflow("gone"));
    await expect.poll(() => files("n2", "workflows")).toEqual(["gone.yaml", "greet.yaml"]);
    await two.kill("SIGKILL");
    rmSync(path("n1", "workflows", "gone.yaml"));
    const { etag } = await put(one, "greet", workflow("second"), (await text(one, "greet")).body.etag);
    expect(etag).not.toBe("");
    await expect.poll(async () => (await text(one, "gone")).status).toBe(404);
    await server.down();
    expect((await put(one, "greet", workflow("third"), etag)).status).toBe(503);
    expect(read("n1", "workflows", "greet.yaml")).toBe(workflow("second"));
    await server.up();
    const again = await start("n2");
    expect(files("n2", "workflows")).toEqual(["greet.yaml"]);
    expect(await outputOf(again, "greet")).toBe("second");
  });
});
