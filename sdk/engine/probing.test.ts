import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import type { Spawn } from "../processes.ts";
import { probeEngine, versionOf } from "./probing.ts";

it("ENG-9 tells installed, signed in and reachable apart", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const given = { installed: async () => "tool 1.0", signedIn: async () => "signed in", vendor: { address } };
  expect(await probeEngine(given)).toEqual({ ok: true, detail: "tool 1.0; signed in; vendor reachable" });
  await new Promise((resolve) => server.close(resolve));
  expect(await probeEngine(given)).toEqual({
    ok: false,
    detail: expect.stringMatching(/^tool 1\.0; signed in; 127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)$/),
  });
  expect(await probeEngine({ ...given, signedIn: () => Promise.reject(new Error("not signed in")) })).toEqual({
    ok: false,
    detail: "tool 1.0; not signed in",
  });
  expect(await probeEngine({ ...given, installed: () => Promise.reject(new Error("no program")) })).toEqual({ ok: false, detail: "no program" });
});

it("ENG-9 a program that does not end is named, with how long it was waited for", async () => {
  const ended = Promise.resolve({ code: null, signal: "SIGTERM", stdout: "", stderr: "", truncated: false, reason: "timeout" as const });
  const spawn: Spawn = () => ({ pid: 1, started: Promise.resolve(), ended, write: async () => {}, closeStdin: () => {}, stop: async () => {} });
  await expect(versionOf(spawn, "/bin/tool", ["cli.js"], "/")).rejects.toThrow("/bin/tool cli.js --version did not end within 30 s");
});
