import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeCli } from "@svc/sdk/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import group from "./cli.ts";

let dataFolder: string;
beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), "actions-cli-"));
});
afterEach(() => rm(dataFolder, { recursive: true }));

function host(answers: Record<string, unknown> = {}) {
  const cli = createFakeCli({ folder: dataFolder, dataFolder, answers });
  const svc = (name: string, args: string[] = [], options: Record<string, unknown> = {}) => cli.run(group, name, args, options);
  return { svc, printed: cli.printed, asked: cli.requested };
}
const read = async (id: string) => JSON.parse(await readFile(join(dataFolder, "actions", `${id}.json`), "utf8"));

it("CLI-03 adds, lists and removes without a daemon, whole files that others cannot read", async () => {
  const { svc, printed, asked } = host();
  await svc("add", ["weather"], {
    url: "https://example.org/{{city}}",
    inputs: "city:string!,n:number",
    header: ["Accept: text/plain"],
    timeout: 5000,
    title: "The weather",
  });
  await svc("add", ["greet"], { command: "echo {{who}}", inputs: "who!" });
  expect(await read("weather")).toEqual({
    title: "The weather",
    kind: "http",
    url: "https://example.org/{{city}}",
    method: "GET",
    headers: { Accept: "text/plain" },
    inputs: [
      { name: "city", type: "string", required: true },
      { name: "n", type: "number", required: false },
    ],
    timeoutMs: 5000,
  });
  expect((await stat(join(dataFolder, "actions", "greet.json"))).mode & 0o777).toBe(0o600);
  await writeFile(join(dataFolder, "actions", "half.json"), "{");
  await svc("list");
  expect(printed.at(-1)?.json).toMatchObject({
    actions: [
      { id: "greet", kind: "shell" },
      { id: "weather", kind: "http" },
    ],
    errors: [{ file: "half.json" }],
  });
  expect(printed.at(-1)?.human).toContain("greet  shell  greet  (who:string!)");
  await svc("remove", ["greet"]);
  expect(await readdir(join(dataFolder, "actions"))).toEqual(["half.json", "weather.json"]);
  await expect(svc("remove", ["greet"])).rejects.toMatchObject({ code: "SVC_ACTION_UNKNOWN" });
  expect(asked).toEqual([]);
});

it("ACT-10 writes nothing that the daemon would refuse", async () => {
  const { svc } = host();
  const refused: [string, Record<string, unknown>][] = [
    ["a", { command: "echo '{{x}}'", inputs: "x" }],
    ["a", { command: "echo", timeout: "600001" }],
    ["a", { command: "echo", timeout: "soon" }],
    ["a", { command: "echo", url: "https://example.org" }],
    ["a", {}],
    ["a", { command: "echo", inputs: "x:text" }],
    ["a", { url: "https://example.org", header: ["no colon"] }],
    ["builtin", { command: "echo" }],
    ["../a", { command: "echo" }],
  ];
  for (const [id, options] of refused)
    await expect(svc("add", [id], options), JSON.stringify([id, options])).rejects.toMatchObject({ code: "SVC_OPERATOR_ACTION_INVALID" });
  await expect(svc("remove", ["../svc"])).rejects.toMatchObject({ code: "SVC_OPERATOR_ACTION_INVALID" });
  expect(await readdir(dataFolder)).toEqual([]);
});

it("replaces an action only with --force", async () => {
  const { svc } = host();
  await svc("add", ["a"], { command: "echo 1" });
  await expect(svc("add", ["a"], { command: "echo 2" })).rejects.toMatchObject({ code: "SVC_OPERATOR_ACTION_EXISTS" });
  await svc("add", ["a"], { command: "echo 2", force: true });
  expect(await read("a")).toEqual({ kind: "shell", command: "echo 2" });
});

it("runs an operator action with name=value words, prints its output, and fails when it failed", async () => {
  const { svc, printed, asked } = host({ "POST /api/actions/greet/run?door=cli": { ok: true, status: 0, output: "hi\n", errors: "", durationMs: 1 } });
  await svc("add", ["greet"], { command: "echo {{who}}", inputs: "who" });
  await svc("run", ["greet", "who=a=b", "n=5"]);
  expect(asked).toEqual([{ line: "POST /api/actions/greet/run?door=cli", body: { who: "a=b", n: "5" } }]);
  expect(printed.at(-1)).toMatchObject({ human: "hi", json: { ok: true } });
  const failing = host({ "POST /api/actions/greet/run?door=cli": { ok: false, status: 3, output: "", errors: "", durationMs: 1 } });
  await expect(failing.svc("run", ["greet"])).rejects.toMatchObject({ code: "SVC_ACTION_FAILED", message: "The action greet ended with 3." });
  const telling = host({ "POST /api/actions/greet/run?door=cli": { ok: false, status: 3, output: "", errors: "no such city\n", durationMs: 1 } });
  await expect(telling.svc("run", ["greet"])).rejects.toMatchObject({ message: "The action greet ended with 3: no such city" });
});

it("runs a built-in with words in the types of its schema, or one JSON object", async () => {
  const actions = [
    {
      name: "x.y",
      description: "d",
      input: { type: "object", properties: { url: { type: "string" }, limit: { type: "integer" }, record: { type: "object" }, body: {} } },
    },
  ];
  const ok = { action: "x.y", status: "ok", input: {}, output: [1], durationMs: 1 };
  const { svc, asked, printed } = host({ "GET /api/actions/builtin": { actions }, "POST /api/actions/builtin/x.y?door=cli": ok });
  await svc("run", ["x.y", "url=12", "limit=12", 'record={"a":1}', "body=plain", "other=1"]);
  await svc("run", ["x.y", '{"limit": 3}']);
  expect(asked.filter(({ body }) => body).map(({ body }) => body)).toEqual([
    { url: "12", limit: 12, record: { a: 1 }, body: "plain", other: "1" },
    { limit: 3 },
  ]);
  expect(printed.at(-1)?.json).toEqual(ok);
  await expect(svc("run", ["x.y", "limit=many"])).rejects.toMatchObject({ code: "SVC_ACTION_INPUT" });
  await expect(svc("run", ["x.y", "url"])).rejects.toMatchObject({ code: "SVC_OPERATOR_ACTION_INVALID" });
  await expect(svc("run", ["x.z"])).rejects.toMatchObject({ code: "SVC_ACTION_UNKNOWN" });
  await svc("builtin");
  expect(printed.at(-1)?.human).toContain("url:string, limit:integer");
});

it("fails with the envelope printed when a built-in failed, and says so when no daemon runs", async () => {
  const failed = { action: "x.y", status: "error", input: {}, error: "no such host", durationMs: 1 };
  const { svc, printed } = host({
    "GET /api/actions/builtin": { actions: [{ name: "x.y", description: "", input: { type: "object" } }] },
    "POST /api/actions/builtin/x.y?door=cli": failed,
  });
  await expect(svc("run", ["x.y"])).rejects.toMatchObject({ code: "SVC_ACTION_FAILED", message: "no such host" });
  expect(printed.at(-1)?.json).toEqual(failed);
  await expect(host().svc("run", ["x.y"])).rejects.toMatchObject({ code: "SVC_CLI_NO_DAEMON" });
});
