import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const TOKEN = "glpat-CANARY-token-of-boards";
/** 120 characters. */
const DEEP = `${"group-of-many-teams/".repeat(5)}${"t".repeat(20)}`;
const SHORT = "group/app";
const STATUS = ["todo", "doing", "on-hold", "review"].map((id) => `status::${id}`);

let shell: Shell;
let far: ForgeA;
afterEach(async () => {
  await shell.svc("daemon", "stop");
  await far.close();
});

/** A real daemon with a board over two projects of a forge, one with a long path, and one over the short one alone. */
async function walk(): Promise<void> {
  far = await startForgeA();
  far.addUser("ada");
  far.addUser("svc", { bot: true });
  far.addToken(TOKEN, "svc");
  for (const path of [SHORT, DEEP]) far.addProject(path, { private: true, members: { ada: "write", svc: "write" }, labels: [...STATUS, "area::web"] });
  far.open("ada", SHORT, "issue", { title: "It breaks\u001b[2J", labels: ["area::web"] });
  const [project] = far.state.projects;
  const first = project?.items.get("issue:1");
  if (first === undefined) throw new Error("the far end has no issue");
  first.assignees = ["ada", "svc"].map((login) => ({ ...first.author, username: login }));
  far.open("ada", DEEP, "issue", { title: "Far down", labels: ["status::doing"] });
  shell = await openShell();
  const source = (projects: string[]) => ({ type: "forge_a", projects });
  shell.write(
    echoConfig(
      {},
      {
        channels: {
          forge_a: {
            enabled: true,
            host: far.url,
            webhookPort: 0,
            webhookSecret: "a-secret-of-hooks",
            token: TOKEN,
            agentMappings: [{ agentId: "echo", forgeUsernames: ["SVC"] }],
          },
        },
        boards: [
          { id: "team", name: "Team", source: source([SHORT]) },
          { id: "both", name: "Both", source: source([SHORT, DEEP]) },
        ],
      },
    ),
  );
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
}

const issue = (project: string) => ({ project, kind: "issue", id: 1 }) as const;
const lines = () => {
  const file = join(shell.folder, ".svc/board-audit.jsonl");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};

it("BRD-02 BRD-03 BRD-04 BRD-06 issues of a forge are listed and moved from the command line, each move one call, as its far end judges it", {
  timeout: 120_000,
}, async () => {
  await walk();
  expect((await shell.svc("board", "list")).out).toMatch(/^team {2}Team {2}forge_a: group\/app\n/);
  const shown = (await shell.svc("board", "show", "both")).out;
  expect(shown).toContain(`Triage (triage): 1\n  ${SHORT}#1  It breaks`);
  expect(shown).toContain(`Doing (doing): 1\n  ${DEEP}#1  Far down`);
  // The user of an agent stands for it.
  expect(shown).toMatch(/It breaks.*\[echo, ada, svc\]/);
  expect(shown).not.toContain("\u001b");
  expect((await shell.svc("backlog", "team")).out).toContain(`${SHORT}#1`);

  const before = far.requests.length;
  expect((await shell.svc("board", "move", "team", "1", "doing", "--from", "triage")).out).toContain(`${SHORT}#1 is in doing`);
  expect((await shell.svc("board", "move", "both", `${DEEP}#1`, "done", "--from", "doing")).out).toContain("is in done");
  const made = far.requests.slice(before);
  expect(made.filter(({ method }) => method === "PUT")).toHaveLength(2);
  // Beside the two moves only the labels of a project that a label is to be added in are asked for.
  expect(made.filter(({ method, path }) => method !== "PUT" && !path.endsWith("/labels"))).toEqual([]);
  expect(far.item(issue(SHORT))).toEqual({ labels: ["area::web", "status::doing"], state: "open" });
  expect(far.item(issue(DEEP)).state).toBe("closed");
  expect(
    (await shell.json<{ columns: { id: string; items: object[] }[] }>("board", "show", "both")).columns.map(({ id, items }) => `${id} ${items.length}`),
  ).toEqual(["triage 0", "todo 0", "doing 1", "on-hold 0", "review 0", "done 1"]);
  expect(lines()).toHaveLength(2);

  // A right that is missing, and a forge that does not answer: nothing is noted, and the forge's status is what the operator reads.
  far.setLevel(SHORT, "svc", 10);
  expect(await shell.svc("board", "move", "team", "1", "review")).toMatchObject({ code: 1, err: expect.stringContaining("forge_a answered 403") });
  far.setLevel(SHORT, "svc", 30);
  far.faults.next({ kind: "status", status: 502 }, { method: "PUT", times: 5 });
  expect((await shell.svc("board", "move", "team", "1", "review")).code).toBe(1);
  expect(far.item(issue(SHORT)).labels).toEqual(["area::web", "status::doing"]);
  expect(lines()).toHaveLength(2);
  far.faults.clear();
  // Done there, and the answer lost.
  far.faults.next({ kind: "cut", after: true }, { method: "PUT" });
  expect((await shell.svc("board", "move", "team", "1", "review")).out).toContain("is in review");
  expect(far.item(issue(SHORT)).labels).toEqual(["area::web", "status::review"]);
  expect(lines()).toHaveLength(3);
  expect(far.violations).toEqual([]);
  const log = readFileSync(join(shell.folder, ".svc/daemon.log"), "utf8");
  for (const text of [log, ...lines(), shown]) expect(text).not.toContain(TOKEN);
});
