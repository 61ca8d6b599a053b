import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import type { ForgePlace } from "../kit/forge-server.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const PROJECT = `${"group-of-many-teams/".repeat(5)}${"t".repeat(20)}`;
const LABELS = ["status::todo", "status::doing", "status::on-hold", "status::review", "prio::1"];

async function stage(): Promise<{ far: ForgeA; shell: Shell; issue: ForgePlace; writes: () => readonly string[] }> {
  const far = await startForgeA();
  closing.push(() => far.close());
  far.addUser("ann");
  far.addUser("svc", { bot: true });
  far.addToken("glpat-board", "svc");
  far.addProject(PROJECT, { private: true, members: { ann: "write", svc: "write" }, labels: LABELS });
  far.addProject("other/app", { members: { svc: "write" }, labels: LABELS });
  far.open("ann", "other/app", "issue", { title: "Not on this board" });
  const issue = far.open("ann", PROJECT, "issue", { title: "Mend the door", labels: ["status::todo", "prio::1"] });
  const shell = await openShell();
  shell.write(
    echoConfig(
      {},
      {
        boards: [{ id: "team", name: "Team", source: { type: "forge_a", projects: [PROJECT] } }],
        channels: {
          forge_a: {
            enabled: true,
            host: far.url,
            token: "glpat-board",
            webhookSecret: "s3cret-of-hooks",
            webhookPort: 0,
            routes: [{ project: "*", agent: "echo" }],
          },
        },
      },
    ),
  );
  closing.push(() => shell.svc("daemon", "stop"));
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  return { far, shell, issue, writes: () => far.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`) };
}

const audit = (shell: Shell) => {
  const file = join(shell.folder, ".svc/board-audit.jsonl");
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    : [];
};

describe("a board over forge_a", () => {
  it("BRD-02 BRD-04 BRD-06 a move is one call at the forge, of a project with a path of 120 characters, and one line of audit", async () => {
    const { far, shell, issue, writes } = await stage();
    const item = `${PROJECT}#1`;
    expect(PROJECT).toHaveLength(120);
    expect((await shell.svc("board", "show", "team")).out).toContain("Mend the door");
    expect(await shell.svc("board", "move", "team", item, "doing")).toMatchObject({ code: 0 });
    expect(far.item(issue)).toEqual({ labels: ["prio::1", "status::doing"], state: "open" });
    expect(await shell.svc("board", "move", "team", item, "done")).toMatchObject({ code: 0 });
    expect(far.item(issue).state).toBe("closed");
    expect(await shell.svc("board", "move", "team", item, "review")).toMatchObject({ code: 0 });
    expect(far.item(issue)).toEqual({ labels: ["prio::1", "status::review"], state: "open" });
    expect(await shell.svc("board", "move", "team", item, "triage")).toMatchObject({ code: 0 });
    expect(far.item(issue)).toEqual({ labels: ["prio::1"], state: "open" });
    expect(writes()).toEqual(Array(4).fill(`PUT /api/v4/projects/${encodeURIComponent(PROJECT)}/issues/1`));
    expect(audit(shell).map(({ boardId, itemId }) => [boardId, itemId])).toEqual(Array(4).fill(["team", item]));
    expect(far.violations).toEqual([]);
  }, 60_000);

  it("BRD-03 BRD-04 a card of another project, a label that is missing and a role that is too low: nothing is written, nothing noted", async () => {
    const { far, shell, issue, writes } = await stage();
    const before = far.item(issue);
    expect(await shell.svc("board", "move", "team", "other/app#1", "doing")).not.toMatchObject({ code: 0 });
    far.state.projects[0]?.labels.splice(LABELS.indexOf("status::doing"), 1);
    const missing = await shell.svc("board", "move", "team", `${PROJECT}#1`, "doing");
    expect(missing.code).not.toBe(0);
    expect(missing.err).toContain("status::doing");
    expect(writes()).toEqual([]);
    far.setLevel(PROJECT, "svc", 10);
    const forbidden = await shell.svc("board", "move", "team", `${PROJECT}#1`, "review");
    expect(forbidden.code).not.toBe(0);
    expect(forbidden.err).toContain("403");
    expect(far.item(issue)).toEqual(before);
    expect(audit(shell)).toEqual([]);
    expect(far.violations).toEqual([]);
  }, 60_000);
});
