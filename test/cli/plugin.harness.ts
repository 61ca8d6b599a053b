import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** A package `./<name>` of one module in the shell's folder. */
export function write(shell: Shell, name: string, body: string, svc: object = {}, pkg: object = {}): void {
  const folder = join(shell.folder, name);
  mkdirSync(folder);
  const manifest = { api: 1, kind: "feature", name, entry: "./index.mjs", activate: "always", capabilities: [], ...svc };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: `svc-plugin-${name}`, version: "1.0.0", keywords: ["svc-plugin"], ...pkg, svc: manifest }),
  );
  writeFileSync(join(folder, "index.mjs"), `export default { kind: "feature", name: "${name}", version: "1.0.0", svc: "*", capabilities: [], ${body} };`);
}

/** A folder with an agent that says things back; with `given` the caller removes it. */
export async function shellWith(env: Record<string, string> = {}, given?: string): Promise<Shell> {
  const shell = await openShell(env, given);
  shell.write(echoConfig());
  return shell;
}
