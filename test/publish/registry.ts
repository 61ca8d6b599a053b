import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../kit/free-port.ts";
import { startFront } from "./front.ts";

/** A registry on loopback; what is not published there comes from the registry that npm is set up for. */
export interface Registry {
  readonly address: string;
  stop(): Promise<void>;
}

const MODULES = fileURLToPath(new URL("./registry/node_modules", import.meta.url));
const PROGRAM = join(MODULES, "verdaccio/bin/verdaccio");

/** Why the tests cannot run here, or nothing. */
export const registryMissing = (): string | undefined =>
  existsSync(PROGRAM) ? undefined : "the registry is not installed; run: npm ci --prefix test/publish/registry";

/** Our own names, which are looked for nowhere else, and what a registry says of itself. */
const OURS = /^\/(@svc(%2f|\/)|svc-plugin-|-\/)/i;

export async function startRegistry(folder: string, uplink: string): Promise<Registry> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const front = await startFront(port, uplink, (path) => OURS.test(path));
  const open = { access: ["$all"], publish: ["$all"], unpublish: ["$all"] };
  const config = {
    storage: join(folder, "storage"),
    auth: { htpasswd: { file: join(folder, "htpasswd"), max_users: 10 } },
    packages: { "@svc/*": open, "svc-plugin-*": open },
    log: { type: "stdout", format: "pretty", level: "error" },
    web: { enable: false },
  };
  // The program reads YAML, of which JSON is a part.
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const child = spawn(process.execPath, [PROGRAM, "--config", join(folder, "config.yaml"), "--listen", `127.0.0.1:${port}`], {
    cwd: folder,
    env: { ...process.env, VERDACCIO_PUBLIC_URL: front.address },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      said += chunk;
    });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  for (let tries = 0; ; tries += 1) {
    if (child.exitCode !== null || tries > 600) throw new Error(`the registry did not come up: ${said}`);
    const up = await fetch(`http://127.0.0.1:${port}/-/ping`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (up) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    address: front.address,
    async stop() {
      front.close();
      child.kill();
      await ended;
    },
  };
}
