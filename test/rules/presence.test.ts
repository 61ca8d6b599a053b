import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, runKernel } from "../kit/kernel.ts";

const known = ["presence", "heartbeat", "reserved-keys"].map((name) => join(ROOT, "plugins/features", name));

describe("OPS-09 presence", () => {
  it("GET /presence gives each agent a colour, a letter, a label and its permission; act without it is teach", async () => {
    const { kernel } = await runKernel({ agent: { presence: { initial: "Z" } }, known, listen: true });
    const { presence } = (await (await fetch(`${baseOf(kernel)}/presence`)).json()) as { presence: Record<string, unknown>[] };
    expect(presence).toEqual([{ agent: "a", color: expect.stringMatching(/^#[0-9a-f]{6}$/), initial: "Z", label: "A", allowActions: false }]);
    expect(await kernel.runTool("svc_presence", { mode: "act" }, { agent: "a", signal: new AbortController().signal })).toContain("mode: teach");
  });

  it("neither it nor heartbeat runs where no agent has the key", async () => {
    const running = async (keys: Record<string, unknown>) => {
      const { kernel } = await runKernel({ agent: keys, known });
      const features = kernel.health().plugins.filter(({ id, state }) => id.startsWith("feature-") && state === "running");
      return features.map(({ id }) => id);
    };
    expect(await running({})).toEqual([]);
    expect(await running({ heartbeat: { enabled: true } })).toEqual(["feature-heartbeat"]);
    expect(await running({ presence: {} })).toEqual(["feature-presence"]);
  });
});
