import type { Envelope, Events, Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import { runKernel } from "../kit/kernel.ts";
import { action, runIsolated, statusOf } from "./isolation.harness.ts";

const ring: Record<string, unknown> = {};
ring.itself = ring;
const UNUSABLE: readonly unknown[] = [
  { kind: "x", type: "x:ring", summary: "a ring", data: ring },
  { kind: "x", type: "x:big", summary: "a BigInt", data: { n: 1n } },
  { kind: "x", summary: "no type" },
  { kind: "x", type: "x:summary", summary: 5 },
  {},
  null,
];

it("an event of a plugin that cannot be written is refused to that plugin, and the recent events stay readable", async () => {
  let events: Events | undefined;
  const heard: Envelope[] = [];
  const bad = {
    kind: "feature",
    name: "bad",
    version: "1.0.0",
    svc: "*",
    capabilities: ["events"],
    setup: (ctx: { events: Events }) => void (events = ctx.events),
  };
  const good = {
    ...bad,
    name: "good",
    setup: (ctx: { events: Events }) => void ctx.events.subscribe((event) => event.type.startsWith("x:") && heard.push(event)),
  };
  const { kernel } = await runKernel({ listen: true, inline: [bad, good] as unknown as Plugin<never>[] });
  for (const event of UNUSABLE) expect(() => events?.publish(event as never)).toThrow(expect.objectContaining({ code: "SVC_EVENT_INVALID" }));
  events?.publish({ kind: "x", type: "x:fine", summary: "fine", data: { at: new Date(0), none: undefined } });
  const answer = await fetch(`http://127.0.0.1:${kernel.address?.port}/events/recent`);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("x:fine");
  expect(heard.map(({ type }) => type)).toEqual(["x:fine"]);
  expect(statusOf(kernel, "feature-good").failures).toBe(0);
});

it("an isolated plugin is refused such an event in its own call, too", async () => {
  const { act } = await runIsolated([
    {
      name: "bad",
      capabilities: ["events"],
      setup: action(
        "bad.publish",
        `const ring = {}; ring.itself = ring; const codes = [];
         for (const event of [{ kind: "x", type: "x:ring", summary: "a ring", data: ring }, { kind: "x", type: "x:big", summary: "", data: { n: 1n } }, {}])
           try { ctx.events.publish(event); codes.push("published"); } catch (error) { codes.push(error.code); }
         return codes;`,
      ),
    },
  ]);
  expect(await act("bad.publish")).toEqual(["SVC_EVENT_INVALID", "SVC_EVENT_INVALID", "SVC_EVENT_INVALID"]);
});
