import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ObjectSchema } from "@svc/sdk";
import { expect, it } from "vitest";
import { diffConfig } from "../../kernel/base/config-diff.ts";
import { lastGood, rememberLastGood } from "../../kernel/base/last-good.ts";
import { checkDocument } from "../../kernel/core/config/check.ts";
import { composeSchema } from "../../kernel/core/config/compose.ts";
import { openDocument } from "../../kernel/core/config/document.ts";
import { CONTRACT_PARTS } from "../kit/configuration.ts";

const MESH: ObjectSchema = {
  type: "object",
  properties: {
    feed: { type: "object", properties: { skipTypes: { type: "array", items: { type: "string" }, restart: true } } },
    peers: { type: "array", items: { type: "object", properties: { url: { type: "string" }, file: { type: "string", restart: true } } } },
  },
};
const composed = composeSchema({
  sections: [...CONTRACT_PARTS.sections, { at: "mesh", schema: MESH, owner: "feature-mesh" }],
  agentKeys: CONTRACT_PARTS.agentKeys,
  tiers: ["cli-a"],
  defaultTier: "cli-a",
});
const BASE = { node: { id: "n", name: "N" }, agents: { a: { name: "A", workspace: ".", model: "one" } }, mesh: { peers: [{ url: "u", file: "f" }] } };
const checked = (value: object, env: NodeJS.ProcessEnv = {}) => checkDocument(openDocument({ value }, env), composed);
const diff = (after: object, before: object = BASE) => diffConfig(checked(before).value, checked(after).value, composed.restartPaths);

it("CFG-09 tells which changes wait for a restart", () => {
  const after = {
    node: { id: "n", name: "M", bind: "127.0.0.1:1" },
    agents: { a: { name: "A2", workspace: ".", model: "two", mcp: { s: { command: "c" } } } },
    plugins: ["p"],
    business: { any: 1 },
    mesh: { feed: { skipTypes: ["x"] }, peers: [{ url: "v", file: "f" }] },
  };
  const { changed, restartRequired } = diff(after);
  expect(new Set(changed)).toEqual(
    new Set(["node.name", "node.bind", "agents.a.name", "agents.a.model", "agents.a.mcp", "mesh.peers[0].url", "mesh.feed", "plugins", "business"]),
  );
  expect(new Set(restartRequired)).toEqual(new Set(["node.name", "node.bind", "agents.a.model", "agents.a.mcp", "plugins", "business"]));
});

it("CFG-09 finds what waits inside lists and below maps", () => {
  const mesh = (peers: object[], skipTypes: string[]) => ({ ...BASE, mesh: { peers, feed: { skipTypes } } });
  const before = mesh([{ url: "u", file: "f" }], ["a"]);
  expect(diff(mesh([{ url: "u", file: "g" }], ["a"]), before)).toEqual({ changed: ["mesh.peers[0].file"], restartRequired: ["mesh.peers[0].file"] });
  expect(diff(mesh([{ url: "v", file: "f" }], ["a"]), before)).toEqual({ changed: ["mesh.peers[0].url"], restartRequired: [] });
  expect(diff(mesh([], ["a"]), before)).toEqual({ changed: ["mesh.peers"], restartRequired: ["mesh.peers"] });
  expect(diff(mesh([{ url: "u", file: "f" }], ["b"]), before)).toEqual({ changed: ["mesh.feed.skipTypes[0]"], restartRequired: ["mesh.feed.skipTypes[0]"] });
});

it("a default written out is no change, another value behind a variable is one", () => {
  expect(diff({ ...BASE, session: { staleMinutes: 720 } }).changed).toEqual([]);
  const value = { ...BASE, providers: { p: { apiKey: "${KEY}" } } };
  expect(diffConfig(checked(value, { KEY: "a" }).value, checked(value, { KEY: "b" }).value, [])).toEqual({
    changed: ["providers.p.apiKey"],
    restartRequired: [],
  });
});

it("an agent that comes or goes is one change and needs no restart", () => {
  const more = { ...BASE, agents: { ...BASE.agents, b: { name: "B", workspace: ".", model: "x" } } };
  expect(diff(more)).toEqual({ changed: ["agents.b"], restartRequired: [] });
  expect(diff(BASE, more)).toEqual({ changed: ["agents.b"], restartRequired: [] });
});

it("remembers the text of the last configuration that started, for its owner's eyes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-last-good-"));
  try {
    expect(await lastGood(folder)).toBeUndefined();
    await rememberLastGood(folder, '{"token": "${TOKEN}"}');
    expect(await lastGood(folder)).toBe('{"token": "${TOKEN}"}');
    const file = join(folder, "last-good.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { ino } = statSync(file);
    await rememberLastGood(folder, '{"token": "${TOKEN}"}');
    expect(statSync(file).ino).toBe(ino);
    await rememberLastGood(folder, "{}");
    expect(readFileSync(file, "utf8")).toBe("{}");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
