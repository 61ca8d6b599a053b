import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

/** A real OpenSSH server on loopback for the user of the tests, with a key, a host key and a configuration of its own. */
export interface SshServer {
  readonly port: number;
  /** For `--ssh-config`: names the host `far`. */
  readonly config: string;
  /** The same over a line that breaks after so many bytes of a connection. */
  breaking(bytes: number): Promise<{ readonly config: string; close(): void }>;
  stop(): Promise<void>;
}

const SSHD = "/usr/sbin/sshd";

/** Why the tests cannot run here, or nothing. */
export const sshMissing = (): string | undefined => (existsSync(SSHD) ? undefined : "there is no sshd; on Debian: apt-get install openssh-server");

/** Starts one in `folder`; `home` is where its commands begin. */
export async function startSsh(folder: string, home: string): Promise<SshServer> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const user = userInfo();
  // The server refuses to start as root without it.
  if (user.uid === 0) mkdirSync("/run/sshd", { recursive: true });
  for (const name of ["host", "user"]) execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
  const port = await freePort();
  const path = `${join(process.execPath, "..")}:/usr/local/bin:/usr/bin:/bin`;
  const settings = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${join(folder, "host")}`,
    `AuthorizedKeysFile ${join(folder, "user.pub")}`,
    `PidFile ${join(folder, "pid")}`,
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    `SetEnv HOME=${home} PATH=${path} SVC_LOG_LEVEL=info`,
  ];
  writeFileSync(join(folder, "sshd_config"), settings.join("\n"));
  const child = spawn(SSHD, ["-D", "-e", "-f", join(folder, "sshd_config")], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  for (let waited = 0; !said.includes("Server listening"); waited += 50) {
    if (child.exitCode !== null || waited > 30_000) throw new Error(`sshd did not come up: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const hostKey = readFileSync(join(folder, "host.pub"), "utf8").split(" ").slice(0, 2).join(" ");
  writeFileSync(join(folder, "known"), `far ${hostKey}\n`);
  const client = [
    "Host far",
    "HostName 127.0.0.1",
    "HostKeyAlias far",
    `Port ${port}`,
    `User ${user.username}`,
    `IdentityFile ${join(folder, "user")}`,
    "IdentitiesOnly yes",
    `UserKnownHostsFile ${join(folder, "known")}`,
    "GlobalKnownHostsFile /dev/null",
    "StrictHostKeyChecking yes",
  ];
  const config = join(folder, "ssh_config");
  writeFileSync(config, `${client.join("\n")}\n`);
  return {
    port,
    config,
    async breaking(bytes) {
      const line = createServer((near) => {
        const far = connect(port, "127.0.0.1");
        let left = bytes;
        near.on("data", (data: Buffer) => {
          left -= data.length;
          if (left > 0) return void far.write(data);
          near.destroy();
          far.destroy();
        });
        far.on("data", (data) => near.write(data));
        for (const [one, other] of [
          [near, far],
          [far, near],
        ] as const)
          one.on("error", () => {}).on("close", () => other.destroy());
      }).listen(0, "127.0.0.1");
      await once(line, "listening");
      const broken = join(folder, "broken_config");
      const to = (line.address() as AddressInfo).port;
      writeFileSync(broken, `${client.map((word) => (word.startsWith("Port ") ? `Port ${to}` : word)).join("\n")}\n`);
      return { config: broken, close: () => void line.close() };
    },
    async stop() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}
