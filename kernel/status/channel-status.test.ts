import { type Channel, channelError, definePlugin, type Plugin } from "@svc/sdk";
import { afterEach, expect, it } from "vitest";
import type { Kernel } from "../core/boot/kernel-api.ts";
import { createKernel } from "../create-kernel.ts";

const open: Kernel[] = [];
afterEach(async () => {
  for (const kernel of open.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

const traits = { maxChars: 100, unit: "utf8", dialect: "plain" } as const;

/** A channel that is ready, with a note or without, or down with a reason. */
const channel = (name: string, test?: Channel["test"], down?: string, note?: string) =>
  definePlugin({
    kind: "channel",
    name,
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: [],
    setup(ctx) {
      const handle = ctx.provide.channel({ name, traits, send: async () => ({ platformId: "1" }), ...(test === undefined ? {} : { test }) });
      return { start: async () => (down === undefined ? handle.ready(note) : handle.down(down)) };
    },
  });

async function running(...plugins: Plugin[]): Promise<Kernel> {
  const kernel = await createKernel({ config: { node: { id: "n", name: "N" } }, plugins });
  await kernel.start();
  open.push(kernel);
  return kernel;
}

const never = new AbortController().signal;

it("channels are listed by name, with why one is down and what waits for it", async () => {
  const kernel = await running(
    channel("weary", undefined, "no token"),
    channel("able", async () => "me"),
  );
  await kernel.tasks.deliver({ kind: "notice", target: { channel: "weary", chat: "1" }, text: "later" });
  expect(await kernel.channels()).toEqual([
    { name: "able", plugin: "channel-able", state: "ready", traits, testable: true, unsent: 0 },
    { name: "weary", plugin: "channel-weary", state: "down", reason: "no token", traits, testable: false, unsent: 1 },
  ]);
});

it("a test answers with the plugin's words, and fails with the platform's", async () => {
  const refusing = async () => {
    throw channelError("permanent", "401: Unauthorized");
  };
  const kernel = await running(
    channel("able", async () => "main: @helper"),
    channel("refused", refusing),
    channel("plain"),
  );
  expect(await kernel.testChannel("able", never)).toBe("main: @helper");
  await expect(kernel.testChannel("refused", never)).rejects.toMatchObject({
    code: "SVC_CHANNEL_TEST",
    status: 502,
    message: expect.stringMatching(/401: Unauthorized/),
  });
  await expect(kernel.testChannel("plain", never)).rejects.toMatchObject({
    code: "SVC_CHANNEL_UNTESTABLE",
    message: expect.stringMatching(/channel-plain has no test/),
  });
  await expect(kernel.testChannel("nowhere", never)).rejects.toMatchObject({ code: "SVC_CHANNEL_UNKNOWN", status: 404 });
});

it("a caller who goes away ends the question to the platform", async () => {
  let asked: (signal: AbortSignal) => void = () => {};
  const question = new Promise<AbortSignal>((resolve) => {
    asked = resolve;
  });
  const hanging = (signal: AbortSignal) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("given up")), { once: true });
      asked(signal);
    });
  const kernel = await running(channel("slow", hanging));
  const caller = new AbortController();
  const answer = kernel.testChannel("slow", caller.signal);
  await question;
  caller.abort();
  await expect(answer).rejects.toMatchObject({ code: "SVC_CHANNEL_TEST", message: expect.stringMatching(/given up/) });
});

it("a channel that is ready can say what an operator should know of it", async () => {
  const kernel = await running(channel("closed", undefined, undefined, "hears nobody: its list is empty"));
  expect(await kernel.channels()).toMatchObject([{ name: "closed", state: "ready", reason: "hears nobody: its list is empty" }]);
});
