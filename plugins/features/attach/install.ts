import { chmod, copyFile, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "@svc/sdk";
import { hookProgram, hookScript } from "./hook-script.ts";
import { withHooks, withoutHooks } from "./settings-hooks.ts";

/** Where the hooks go to: the settings of the program, and the folder of the script. */
export interface Installation {
  readonly dataFolder: string;
  readonly settings: string;
}

const scriptOf = (dataFolder: string): string => join(dataFolder, "attach", "hook.sh");

/** Writes the script and its entries in the settings. Answers whether the settings were changed. Throws `SVC_ATTACH_SETTINGS`. */
export async function install({ dataFolder, settings }: Installation): Promise<boolean> {
  const script = scriptOf(dataFolder);
  const before = await textOf(settings);
  const after = withHooks(before ?? "", script, settings);
  const place = { dataFolder, node: process.execPath };
  await replace(join(dataFolder, "attach", "hook.mjs"), hookProgram(place), 0o600);
  await replace(script, hookScript(place), 0o700);
  await noteSettings(dataFolder, (noted) => [...noted.filter((one) => one !== settings), settings]);
  if (after === before) return false;
  if (before !== undefined) await copyFile(await realOf(settings), `${settings}.bak`);
  else await rm(`${settings}.bak`, { force: true });
  await replace(settings, after, before === undefined ? 0o600 : undefined);
  return true;
}

/** Removes the entries again, byte for byte if the file is unchanged since, and the script with the last ones. Resolves with whether there were any. */
export async function uninstall({ dataFolder, settings }: Installation): Promise<boolean> {
  const script = scriptOf(dataFolder);
  const before = await textOf(settings);
  const backup = await textOf(`${settings}.bak`);
  const after = before === undefined ? undefined : withoutHooks(before, script, settings);
  const left = await noteSettings(dataFolder, (noted) => noted.filter((one) => one !== settings));
  // Other settings may call it still: a person and a project each have their own.
  if (left.length === 0) await rm(join(dataFolder, "attach"), { recursive: true, force: true });
  if (before === undefined || after === undefined || after === before) return false;
  const known = backup !== undefined && hooked(backup, script, settings) === before;
  // We made the file: nothing else stands in it.
  if (backup === undefined && /^\s*\{\s*\}\s*$/.test(after)) await rm(settings);
  else await replace(settings, known ? backup : after);
  if (known) await rm(`${settings}.bak`, { force: true });
  return true;
}

/** Records which settings files call the script, beside it. */
async function noteSettings(dataFolder: string, change: (noted: readonly string[]) => readonly string[]): Promise<readonly string[]> {
  const file = join(dataFolder, "attach", "settings.json");
  const noted: unknown = JSON.parse((await textOf(file)) ?? "[]");
  const changed = change(Array.isArray(noted) ? noted.map(String) : []);
  await replace(file, `${JSON.stringify(changed)}\n`, 0o600);
  return changed;
}

function hooked(text: string, script: string, settings: string): string | undefined {
  try {
    return withHooks(text, script, settings);
  } catch {
    return undefined;
  }
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Where a link leads: the file behind it is replaced, the link stays. */
const realOf = (file: string): Promise<string> => realpath(file).catch(() => file);

/** Whole or not at all; an existing file keeps its mode where none is given. */
async function replace(file: string, text: string, mode?: number): Promise<void> {
  const target = await realOf(file);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const kept = mode ?? ((await stat(target).catch(() => undefined))?.mode ?? 0o600) & 0o777;
  const temporary = `${target}.${process.pid}.tmp`;
  const handle = await open(temporary, "w", kept);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await chmod(temporary, kept);
  await rename(temporary, target);
}
