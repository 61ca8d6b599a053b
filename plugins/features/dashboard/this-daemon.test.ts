import type { PluginContext, Trace, TraceQuery } from "@svc/sdk";
import { expect, it } from "vitest";
import { createThisDaemon } from "./this-daemon.ts";

it("a long list of tasks holds few of their texts at a time, and hands on none whole", async () => {
  const ids = Array.from({ length: 130 }, (_, n) => `task_${String(999 - n)}`);
  const asked: (TraceQuery | undefined)[] = [];
  const traces = {
    async list(query?: TraceQuery) {
      asked.push(query);
      const { limit = 50, below = "task_x" } = query ?? {};
      const message = "é".repeat(100_000);
      return ids.flatMap((id) => (id < below ? [{ id, agent: "a", message, response: "r", steps: [{}] } as unknown as Trace] : [])).slice(0, limit);
    },
  };
  const daemon = createThisDaemon({ node: { id: "n", name: "N" }, traces } as unknown as PluginContext, "http://localhost");
  const found = await daemon.history({ agent: "a", limit: 120 });
  expect(found.map(({ id }) => id)).toEqual(ids.slice(0, 120));
  expect(asked).toEqual([
    { agent: "a", limit: 50 },
    { agent: "a", limit: 50, below: ids[49] },
    { agent: "a", limit: 20, below: ids[99] },
  ]);
  expect(found[0]).toEqual({ id: ids[0], agent: "a", steps: [], messagePreview: "é".repeat(200) });
  expect(await daemon.history({ limit: 1_000 })).toHaveLength(130);
});
