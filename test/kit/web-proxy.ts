import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { temporaryFolder } from "./kernel.ts";

export const NGINX = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].find((file) => existsSync(file));

const running: ChildProcess[] = [];

/** For `afterEach`: ends the proxies that were started. */
export async function endProxies(): Promise<void> {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}

/** Starts a proxy and waits until it takes connections. */
export async function startProxy(command: string, args: string[], env: Record<string, string>, port: number): Promise<number> {
  const child = spawn(command, args, { env: { PATH: process.env.PATH ?? "", ...env }, stdio: ["ignore", "ignore", "pipe"] });
  running.push(child);
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const open = await new Promise<boolean>((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)));
    socket.destroy();
    if (open) return port;
    if (child.exitCode !== null) throw new Error(`${command} ended: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** nginx on a port of loopback with these blocks of `http`; the sample's name and certificate stay out of them. */
export async function startNginx(http: string, port: number): Promise<number> {
  const folder = await temporaryFolder();
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  const here = http.replace("listen 443 ssl;", `listen 127.0.0.1:${port};`).replace(/ssl_certificate(_key)? .*;/g, "");
  await writeFile(join(folder, "nginx.conf"), `pid ${folder}/pid; error_log stderr; events {}\nhttp { access_log off; ${temp}\n${here} }`);
  return startProxy(NGINX as string, ["-p", folder, "-c", join(folder, "nginx.conf"), "-g", "daemon off; master_process off;"], {}, port);
}
