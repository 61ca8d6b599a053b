import type { Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import subscriptions from "../../plugins/features/subscriptions/index.ts";
import { baseOf, runKernel } from "../kit/kernel.ts";

interface Page {
  readonly agentId: string;
  readonly subscriptions: readonly unknown[];
  readonly events: readonly { readonly id: string }[];
  readonly next: string | null;
  readonly gap?: true;
}

async function reader() {
  const { kernel } = await runKernel({
    listen: true,
    agent: { subscriptions: [{ kinds: ["run"] }] },
    inline: [subscriptions as unknown as Plugin<never>],
  });
  return {
    publish: (count: number, kind = "run") => Array.from({ length: count }, (_, nth) => kernel.bus.publish({ kind, type: "x", summary: `${kind} ${nth}` }).id),
    read: async (query = "", agent = "a") => {
      const answer = await fetch(`${baseOf(kernel)}/agents/${agent}/events${query}`);
      return { status: answer.status, body: (await answer.json()) as Page };
    },
  };
}
const idsOf = ({ events }: Page) => events.map(({ id }) => id);

it("EVT-03 limit keeps the newest without since and the oldest after it, both oldest first", async () => {
  const { publish, read } = await reader();
  const ids = publish(10);
  expect(idsOf((await read("?limit=3")).body)).toEqual(ids.slice(-3));
  expect(idsOf((await read(`?limit=3&since=${ids[1]}`)).body)).toEqual(ids.slice(2, 5));
  for (const limit of ["0", "-1", "x", "1.5"]) expect((await read(`?limit=${limit}`)).status, limit).toBe(400);
});

it("EVT-01 a since that left the buffer is a gap", async () => {
  const { publish, read } = await reader();
  publish(3);
  expect((await read("?since=evt_0123456789_zz")).body).toMatchObject({ gap: true });
  expect((await read()).body).not.toHaveProperty("gap");
});

it("EVT-05 cursor reading gives 120 events as 50, 50, 20, and next is never lost", async () => {
  const { publish, read } = await reader();
  const [marker] = publish(1, "signal");
  const ids = publish(120);
  publish(5, "signal");
  const got: string[] = [];
  const sizes: number[] = [];
  for (let since = marker as string; ; ) {
    const { body } = await read(`?since=${since}&limit=500`);
    expect(body).toMatchObject({ agentId: "a", subscriptions: [{ kinds: ["run"] }] });
    sizes.push(body.events.length);
    got.push(...idsOf(body));
    if (body.events.length === 0) {
      expect(body.next).toBe(since);
      break;
    }
    expect(body.next).toBe(idsOf(body).at(-1));
    since = body.next as string;
  }
  expect(sizes).toEqual([50, 50, 20, 0]);
  expect(got).toEqual(ids);
  expect((await read("", "nobody")).status).toBe(404);
});
