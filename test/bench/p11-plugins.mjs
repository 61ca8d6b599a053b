import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jsonOf } from "./process.mjs";
import { ratioAtMost } from "./rounds.mjs";

const COUNT = 40;

const source = (name) => `
import { definePlugin } from "@svc/sdk";

export default definePlugin({
  kind: "feature",
  name: "${name}",
  version: "1.0.0",
  svc: "^0.1.0",
  config: {
    at: "bench.${name}",
    schema: {
      type: "object",
      additionalProperties: false,
      required: ["address"],
      properties: {
        enabled: { type: "boolean", default: true },
        address: { type: "string", format: "url" },
        every: { type: "integer", minimum: 1, maximum: 3600, default: 60 },
        tags: { type: "array", items: { type: "string", minLength: 1 }, default: [] },
        limits: { type: "object", additionalProperties: false, properties: { size: { type: "integer", default: 10 }, mode: { enum: ["a", "b"] } } },
      },
    },
  },
  capabilities: [],
  setup(ctx) {
    ctx.hooks.inbound.tap(() => undefined);
    return {};
  },
});
`;

/** Forty packages as somebody would write them, each with its section. */
async function writePlugins(folder) {
  for (let at = 0; at < COUNT; at += 1) {
    const name = `small-${at}`;
    const home = join(folder, name);
    await mkdir(home, { recursive: true });
    const svc = { api: 1, kind: "feature", name, entry: "./index.js", section: `bench.${name}`, activate: "section", capabilities: [] };
    await writeFile(join(home, "package.json"), JSON.stringify({ name: `svc-${name}`, version: "1.0.0", type: "module", svc }));
    await writeFile(join(home, "index.js"), source(name).replace("@svc/sdk", import.meta.resolve("@svc/sdk")));
  }
}

export default {
  id: "P11",
  title: "load forty plugins",
  against: "import() of the same forty in parallel",
  lines: [{ what: `load ${COUNT} small plugins: check, set up, start`, unit: "ms", target: ratioAtMost(3) }],
  async open({ folder }) {
    await writePlugins(folder);
    const program = join(import.meta.dirname, "subjects/plugins.mjs");
    const run = async (what) => (await jsonOf([program, folder, what, String(COUNT)])).ms;
    return {
      floor: async () => [await run("import")],
      // What a kernel without plugins takes is not the plugins' price.
      ours: async () => [(await run("kernel")) - (await run("empty"))],
      note: () => "ours is a kernel with the forty less a kernel without, both in fresh processes",
    };
  },
};
