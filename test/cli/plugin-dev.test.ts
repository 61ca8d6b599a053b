import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";

const PATIENCE = { timeout: 30_000, interval: 50 };
const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

describe("svc plugin dev", () => {
  it("AUT-B19 runs the plugin anew after each change, says what it is, where it fails and what it logs, and leaves nothing", async () => {
    const folder = await temporaryFolder();
    const at = join(folder, "acme");
    mkdirSync(join(at, "dist"), { recursive: true });
    const svc = { api: 1, kind: "feature", name: "acme", entry: "./dist/index.mjs", section: "acme", activate: "enabled", capabilities: [] };
    writeFileSync(
      join(at, "package.json"),
      JSON.stringify({ name: "svc-plugin-acme", version: "1.0.0", exports: { "./conformance": "./dist/conformance.mjs" }, svc }),
    );
    writeFileSync(join(at, "sample.json"), JSON.stringify({ acme: { word: "from the sample" } }));
    writeFileSync(
      join(at, "dist/conformance.mjs"),
      'export default ({ it }) => { it("works", async () => {}); it("breaks", async () => { throw new Error("it broke"); }); };',
    );
    const write = (setup: string) =>
      writeFileSync(
        join(at, "dist/index.mjs"),
        `import { definePlugin } from "@svc/sdk";
export default definePlugin({
  kind: "feature", name: "acme", version: "1.0.0", svc: "*", capabilities: [],
  config: { at: "acme", schema: { type: "object", properties: { enabled: { type: "boolean" }, word: { type: "string" } } } },
  setup(ctx) {
    ${setup}
  },
});`,
      );
    write('for (const printed of [null, 5, "words"]) console.error(JSON.stringify(printed)); ctx.log.info("first " + ctx.config.word);');
    const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "plugin", "dev", "./acme", "--contract"], {
      cwd: folder,
      env: { ...process.env, SVC_CONFIG: "" },
    });
    running.push(child);
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk) => {
        said += chunk;
      });
    const says = (words: string | RegExp) => vi.waitFor(() => expect(said).toMatch(words), PATIENCE);
    await says("feature-acme: first from the sample");
    await says(/feature-acme: running after \d+ ms/);
    await says(/contract: 1 of 2 passed\n {2}breaks: it broke/);
    write("ctx.hooks.inbound.tap(() => undefined);");
    await says(/feature-acme: running after \d+ ms; hook inbound/);
    write("undefined.boom;");
    await says(/feature-acme: failed after \d+ ms: setup: .*boom.* \(dist\/index\.mjs:6:\d+\)/);
    write('ctx.log.info("mended");');
    await says("feature-acme: mended");
    const home = /Its daemon lives in (\S+);/.exec(said)?.[1] as string;
    expect(existsSync(home)).toBe(true);
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(existsSync(home)).toBe(false);
  }, 120_000);
});
