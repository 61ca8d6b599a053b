import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { ownPrograms } from "../kit/own-programs.ts";
import { question, runAsking } from "./approvals.harness.ts";

/** Prints the status with which a request to approve is answered. */
const APPROVE =
  'fetch(process.argv[1], { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }).then((answer) => console.log(answer.status))';

it("OPS-06 a program that the daemon started may not answer what a person is asked, on neither server; any other of this machine may", async () => {
  const { plugin, run } = ownPrograms();
  const at = await runAsking({ inline: [plugin] });
  const asked = await at.approvals.ask(question("a push"));
  for (const address of [`${at.daemon}/approvals/${asked.id}/approve`, `${at.page}/api/approvals/${asked.id}/approve`]) {
    expect(await run(process.execPath, ["-e", APPROVE, address])).toBe("403");
    expect(await run("sh", ["-c", 'setsid "$0" -e "$1" "$2" | cat', process.execPath, APPROVE, address])).toBe("403");
  }
  expect((await at.approvals.get(asked.id))?.state).toBe("open");

  const other = spawn(process.execPath, ["-e", APPROVE, `${at.daemon}/approvals/${asked.id}/approve`], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  other.stdout.on("data", (text) => (said += text));
  await once(other, "close");
  expect(said.trim()).toBe("200");
  expect((await at.approvals.get(asked.id))?.state).toBe("approved");
});
