import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { checkConfiguration } from "../editing.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-exposure-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function warnings(config: object, mode = 0o600): Promise<readonly (readonly [string, string])[]> {
  const file = join(folder, "svc.json");
  writeFileSync(file, JSON.stringify({ node: { id: "n", name: "N" }, ...config }));
  chmodSync(file, mode);
  const { problems } = await checkConfiguration({ file, dataFolder: join(folder, ".svc"), known: [], env: { KEY: "a-key-from-the-environment" } });
  return problems.filter(({ severity }) => severity === "warning").map(({ path, message }) => [path, message]);
}

it("SEC-S1 warns of a workspace that holds the configuration or the data folder, by its real path", async () => {
  symlinkSync(folder, join(folder, "link"));
  const agents = Object.fromEntries([".", "..", "./link", "./w", ".svc/w"].map((workspace, at) => [`a${at}`, { name: "A", workspace }]));
  expect((await warnings({ agents })).map(([path]) => path)).toEqual(["agents.a0.workspace", "agents.a1.workspace", "agents.a2.workspace"]);
  expect(await warnings({ agents: 5 })).toEqual([]);
});

it("SEC-m7 warns of a file with secrets in it that others can read, of one that they can change, and of such a .env", async () => {
  const literal = { providers: { anthropic: { apiKey: "sk-a-literal-secret-0001" } } };
  const named = { providers: { anthropic: { apiKey: "${KEY}" } } };
  expect(await warnings(literal)).toEqual([]);
  expect(await warnings(named, 0o644)).toEqual([]);
  const [[, message] = []] = await warnings(literal, 0o644);
  expect(message).toContain("holds secrets (providers.anthropic.apiKey)");
  expect(message).toContain(`chmod 600 ${join(folder, "svc.json")}`);
  expect(message).not.toContain("literal");
  expect((await warnings(named, 0o666)).map(([, text]) => text)).toEqual([expect.stringContaining("can be changed by other users")]);
  writeFileSync(join(folder, ".env"), "A=b");
  chmodSync(join(folder, ".env"), 0o640);
  expect((await warnings(named)).map(([, text]) => text)).toEqual([expect.stringContaining(".env beside it")]);
});
