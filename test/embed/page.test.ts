import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT, read } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";

it("the program of docs/embedding.md compiles, and does what the page says", async () => {
  const blocks = [...read("docs/embedding.md").matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text]) => text as string);
  expect(blocks.length).toBe(6);
  const folder = await temporaryFolder();
  writeFileSync(join(folder, "program.ts"), blocks.join("\n"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  mkdirSync(join(folder, "workspace"));
  const compilerOptions = { strict: true, module: "nodenext", target: "es2022", types: ["node"], skipLibCheck: true, noUnusedLocals: true };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const compiled = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder], { encoding: "utf8" });
  expect(compiled.stdout).toBe("");
  expect(compiled.status).toBe(0);
  const said = execFileSync(process.execPath, ["program.js"], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  const lines = said.split("\n").filter((line) => !line.startsWith("{"));
  expect(lines).toEqual(["part: You said: hello", "true You said: hello", "false dropped", "ok hello", "200", "stopped", ""]);
});
