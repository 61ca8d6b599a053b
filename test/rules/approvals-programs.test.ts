import { spawn } from "node:child_process";
import { once } from "node:events";
import { definePlugin, type Plugin, type Spawn } from "@svc/sdk";
import { expect, it } from "vitest";
import { question, runAsking } from "./approvals.harness.ts";

/** Prints the status with which a request to approve is answered. */
const APPROVE =
  'fetch(process.argv[1], { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }).then((answer) => console.log(answer.status))';

it("OPS-06 a program that the daemon started may not answer what a person is asked, on neither server; any other of this machine may", async () => {
  let start: Spawn | undefined;
  const engine = definePlugin({
    kind: "feature",
    name: "engine",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["spawn"],
    setup(ctx) {
      start = ctx.spawn;
    },
  }) as Plugin<never>;
  const at = await runAsking({ inline: [engine] });
  const asked = await at.approvals.ask(question("a push"));
  const own = async (command: string, args: readonly string[]) => (await (start as Spawn)(command, args, { cwd: process.cwd() }).ended).stdout.trim();
  for (const address of [`${at.daemon}/approvals/${asked.id}/approve`, `${at.page}/api/approvals/${asked.id}/approve`]) {
    expect(await own(process.execPath, ["-e", APPROVE, address])).toBe("403");
    expect(await own("sh", ["-c", 'setsid "$0" -e "$1" "$2" | cat', process.execPath, APPROVE, address])).toBe("403");
  }
  expect((await at.approvals.get(asked.id))?.state).toBe("open");

  const other = spawn(process.execPath, ["-e", APPROVE, `${at.daemon}/approvals/${asked.id}/approve`], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  other.stdout.on("data", (text) => (said += text));
  await once(other, "close");
  expect(said.trim()).toBe("200");
  expect((await at.approvals.get(asked.id))?.state).toBe("approved");
});
