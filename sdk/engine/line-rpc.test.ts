import { afterEach, expect, it } from "vitest";
import { createRealSpawn } from "../testing/real-spawn.ts";
import { openLineRpc } from "./line-rpc.ts";

const { spawn, stopAll } = createRealSpawn();
afterEach(stopAll);

/** A program that answers each request, with so many other lines before it. */
const noisy = (lines: number) =>
  openLineRpc(spawn, {
    program: process.execPath,
    args: [
      "-e",
      `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        for (let count = 0; count < ${lines}; count += 1) console.log("Loaded what it needs.");
        console.log(JSON.stringify({ id: JSON.parse(line).id, result: { ok: true } }));
      });`,
    ],
    cwd: import.meta.dirname,
    env: {},
    who: "tier noisy",
    hint: "is it there?",
    conversationKey: "conversation",
  });

it("a program that prints a line of its own now and then is understood however long it runs", async () => {
  const rpc = noisy(1);
  for (let turn = 0; turn < 120; turn += 1) expect(await rpc.request("turn", {})).toEqual({ ok: true });
});

it("a program that prints other lines alone is not the one we speak with", async () => {
  await expect(noisy(101).request("turn", {})).rejects.toMatchObject({ code: "SVC_RPC_GONE", kind: "protocol", message: expect.stringContaining("in a row") });
});
