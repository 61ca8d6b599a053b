import type { Log, Spawn } from "@svc/sdk";
import type { NotificationSettings } from "./settings.ts";
import type { Words } from "./words.ts";

/** Dependencies of banners. */
export interface BannerDeps {
  readonly platform: NodeJS.Platform;
  readonly spawn: Spawn;
  readonly log: Pick<Log, "debug">;
  /** A variable of the daemon's environment. */
  variable(name: Session): string | undefined;
}

/** Where the desktop of the daemon's user is found. */
export type Session = (typeof SESSION)[number];
const SESSION = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"] as const;

const TIMEOUT_MS = 10_000;
/** The text comes as arguments: nothing of it is read as a script. */
const SCRIPT = ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Shows notices on the desktop. A system without one, or without the programs, is no error and is not asked again. */
export function createBanner({ platform, spawn, log, variable }: BannerDeps) {
  const missing = new Set<string>();

  async function run({ command, args, env = {} }: Program): Promise<void> {
    if (missing.has(command)) return;
    const child = spawn(command, args, { cwd: "/", stdin: "ignore", timeoutMs: TIMEOUT_MS, env });
    try {
      await child.started;
    } catch (error) {
      missing.add(command);
      log.debug({ err: error }, `no banner or sound: ${command} cannot be started`);
      return;
    }
    const { code, stderr } = await child.ended;
    if (code !== 0) log.debug({ code, stderr: stderr.slice(0, 200) }, `no banner or sound: ${command} failed`);
  }

  return async ({ title, text }: Words, local: NotificationSettings["local"]): Promise<void> => {
    if (platform === "darwin") {
      const banner = { command: "osascript", args: [...SCRIPT.flatMap((line) => ["-e", line]), "--", title, text] };
      const sound = { command: "afplay", args: ["-v", String(local.volume), `/System/Library/Sounds/${local.soundName}.aiff`] };
      await Promise.all([...(local.banner ? [run(banner)] : []), ...(local.sound ? [run(sound)] : [])]);
    } else if (platform === "linux" && local.banner) {
      const found = SESSION.flatMap((name): [string, string][] => {
        const value = variable(name);
        return value === undefined ? [] : [[name, value]];
      });
      // Without a desktop session there is no screen for a banner.
      if (found.every(([name]) => name === "XDG_RUNTIME_DIR")) return;
      const icon = local.icon === undefined ? [] : [`--icon=${local.icon}`];
      await run({ command: "notify-send", args: ["--app-name=svc", ...icon, "--", title, plain(text)], env: Object.fromEntries(found) });
    }
  };
}

/** Desktops read some markup in a body. */
const plain = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
