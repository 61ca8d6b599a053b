import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT, read } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";

/** What the fragments of the book take for granted: the context, and names of the author's own. Each line counts where a fragment has its name. */
const GIVEN = `
import type { PluginContext, StoreDriver, Target, Tier, TierEvent, Turn } from "@svc/sdk";
import { complete, put, requireSignature, requireSignatureHeader, SIGNATURES, turnMessages } from "@svc/sdk";
declare const ctx: PluginContext<{ readonly webhookSecret: string; readonly url: string }>;
declare function remember(conversation: string, what: { readonly answer?: string | undefined; readonly session?: unknown; readonly at?: unknown }): void;
declare function isWanted(turn: Turn): boolean;
declare function answerFromDesk(turn: Turn, signal: AbortSignal): Promise<string | undefined>;
declare const questions: { put(id: string, value: object): Promise<void>; get(id: string): Promise<object | undefined> };
declare const target: Target;
declare function connect(url: string): Promise<StoreDriver>;
declare function store(text: string): Promise<void>;
interface Step { readonly of: string }
declare function take(value: Step, signal: AbortSignal): Promise<object>;
`;

/** The fragments: what is no whole file, which the tests of the templates and of the worked examples run. */
const fragments = [...read("sdk/README.md").matchAll(/(<!-- template [^\n]* -->\n)?^```ts\n(.*?)^```$/gms)]
  .filter(([, template, text = ""]) => template === undefined && !text.startsWith("import "))
  .map(([, , text = ""]) => text);

it("AUT-A3 each fragment of the plugin author's book compiles against the sdk, as an author's own project does", async () => {
  expect(fragments.length).toBeGreaterThanOrEqual(9);
  const folder = await temporaryFolder();
  mkdirSync(join(folder, "src"));
  copyFileSync(join(ROOT, "sdk/template/common/tsconfig.json.txt"), join(folder, "tsconfig.json"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  mkdirSync(join(folder, "node_modules/@svc"), { recursive: true });
  symlinkSync(join(ROOT, "sdk"), join(folder, "node_modules/@svc/sdk"));
  symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
  for (const [at, text] of fragments.entries()) {
    // A method stands in what it is a method of.
    const whole = /^async \*run\(/.test(text) ? `export const tier: Pick<Tier, "run"> = {\n${text.trimEnd()},\n};\n` : text;
    writeFileSync(join(folder, `src/fragment-${at + 1}.ts`), `${GIVEN}\n${whole}\nexport {};\n`);
  }
  const { status, stdout } = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit"], { cwd: folder, encoding: "utf8" });
  expect(stdout).toBe("");
  expect(status).toBe(0);
}, 120_000);
