import { spawn } from "node:child_process";

/** Commands that open an address in the person's browser, by system. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Opens a page in the browser of the person at this machine, if there is one. Never fails: the caller has printed the address. Without a terminal
 * or a screen nothing is tried, so that a script does not start a browser.
 */
export async function openBrowser(url: string, { env = process.env, terminal = process.stdout.isTTY === true } = {}): Promise<boolean> {
  const [command, ...args] = env.BROWSER !== undefined && env.BROWSER !== "" ? [env.BROWSER] : (OPENERS[process.platform] ?? ["xdg-open"]);
  const screen = process.platform !== "linux" || env.BROWSER !== undefined || env.DISPLAY !== undefined || env.WAYLAND_DISPLAY !== undefined;
  if (!terminal || !screen) return false;
  return new Promise((resolve) => {
    const child = spawn(command as string, [...args, url], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}
