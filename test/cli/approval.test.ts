import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Approval } from "@svc/sdk";
import { afterEach, expect, it } from "vitest";
import { post } from "../kit/kernel.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

it("svc approval lists questions, shows one whole, and answers them; the second answer is told whose the first was", async () => {
  const shell = await openShell({ SVC_TEST_LEDGER: "/dev/null" });
  shells.push(shell);
  shell.write(echoConfig({}, { plugins: [join(import.meta.dirname, "../faults/asker.mjs")] }));
  expect(await shell.svc("approval", "list")).toMatchObject({ code: 69, err: expect.stringContaining("svc") });
  await shell.svc("daemon", "start");
  expect(await shell.svc("approval", "list")).toMatchObject({ code: 0, out: "No question is open.\n" });
  const { port } = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")) as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const [one, two] = await Promise.all(["one", "two"].map(async (action) => (await post(url, "/asker/ask", { action })).body.id as string));
  const listed = await shell.svc("approval", "list");
  for (const [id, action] of [
    [one, "one"],
    [two, "two"],
  ])
    expect(listed.out).toMatch(new RegExp(`^${id}  act  Do ${action}  asked by plugin asker  until 2\\d{3}-`, "m"));
  expect((await shell.svc("approval", "list", one as string)).out).toMatch(/answers:\n {2}approve +Approve\n {2}reject +Reject \(a no\)\n$/);
  expect(await shell.svc("approval", "approve", one as string)).toMatchObject({ code: 0, out: `Question ${one} is approved.\n` });
  const second = await shell.svc("approval", "reject", one as string);
  expect(second).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(`^svc: Question ${one} is decided already: approved by \\S+ on command line, 2`),
  });
  expect((await shell.svc("approval", "later", two as string, "--hours", "2")).out).toMatch(`Question ${two} is asked again 2`);
  expect((await shell.svc("approval", "list")).out).toMatch(/put off until 2/);
  expect(await shell.svc("approval", "reject", two as string, "--choice", "approve")).toMatchObject({
    code: 2,
    err: expect.stringContaining("its answers are reject"),
  });
  expect(await shell.svc("approval", "reject", two as string)).toMatchObject({ code: 0, out: `Question ${two} is rejected.\n` });
  expect(await shell.svc("approval", "list")).toMatchObject({ out: "No question is open.\n" });
  expect((await shell.json<readonly Approval[]>("approval", "list", "--all")).map(({ id, state }) => [id, state]).sort()).toEqual(
    [
      [one, "approved"],
      [two, "rejected"],
    ].sort(),
  );
  expect(await shell.svc("approval", "approve", "nothing")).toMatchObject({ code: 1, err: "svc: There is no question 'nothing'; see svc approval list.\n" });
  expect(await shell.svc("approval", "later", two as string, "--hours", "1000")).toMatchObject({ code: 2 });
});
