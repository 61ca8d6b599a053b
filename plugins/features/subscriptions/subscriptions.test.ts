import type { Agent } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { digestOf } from "./digest.ts";
import { eventsTool } from "./events-tool.ts";
import subscriptions from "./index.ts";

function setUp(entries: object[]) {
  const ctx = createFakeContext(subscriptions, { agents: [{ id: "a", settings: { subscriptions: entries } }] });
  const publish = (count: number, kind = "announce") => {
    for (let number = 1; number <= count; number += 1) ctx.events.publish({ kind, type: kind, summary: `${kind} ${number}` });
  };
  const read = async (since?: string) =>
    JSON.parse(await eventsTool(ctx as never).run(since === undefined ? {} : { since }, { agent: "a", signal: new AbortController().signal }));
  return { ctx, publish, read, agent: ctx.agents.get("a") as Agent };
}

describe("subscriptions", () => {
  it("EVT-05 svc_events reads each event once when next is passed back: 50, 50, 20", async () => {
    const { publish, read } = setUp([{ kinds: ["announce"] }]);
    publish(1);
    const { next } = await read();
    publish(120);
    const sizes: number[] = [];
    const seen = new Set<string>();
    for (let since = next; sizes.at(-1) !== 0; ) {
      const page = await read(since);
      sizes.push(page.events.length);
      for (const { id } of page.events) seen.add(id);
      since = page.next;
    }
    expect(sizes).toEqual([50, 50, 20, 0]);
    expect(seen.size).toBe(120);
  });

  it("an agent without subscriptions reads nothing, and one that asks for a forgotten id is told of the gap", async () => {
    const none = setUp([]);
    none.publish(3);
    expect((await none.read()).events).toEqual([]);
    const some = setUp([{ kinds: ["announce"] }]);
    some.publish(2);
    expect(await some.read("evt_forgotten")).toMatchObject({ gap: true, events: [{}, {}] });
  });

  it("a digest lists the newest ten of what the digest entries select, and is empty without any", () => {
    const { ctx, publish, agent } = setUp([
      { kinds: ["announce"], delivery: "digest" },
      { kinds: ["run"], delivery: "pull" },
    ]);
    expect(digestOf(ctx as never, agent)).toBe("");
    publish(12);
    publish(3, "run");
    const lines = digestOf(ctx as never, agent).split("\n");
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toContain("announce 12");
    expect(lines.join()).not.toContain("run 1");
  });
});
