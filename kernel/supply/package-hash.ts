import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { fail } from "../base/errors.ts";

/** The hash of a package: of its folder, or of a bare file. A file added, removed, renamed or changed changes it; links count by where they point. */
export async function integrityOf(folder: string): Promise<string> {
  const hash = createHash("sha256");
  if ((await lstat(folder)).isFile()) return `sha256-${hash.update(await readFile(folder)).digest("base64")}`;
  const visit = async (path: string): Promise<void> => {
    for (const name of (await readdir(join(folder, path))).sort()) {
      if (path === "" && name === "node_modules") continue;
      const below = path === "" ? name : `${path}/${name}`;
      const facts = await lstat(join(folder, below));
      if (facts.isDirectory()) {
        await visit(below);
        continue;
      }
      if (facts.isSymbolicLink()) await requireInside(folder, below);
      const content = facts.isSymbolicLink() ? Buffer.from(await readlink(join(folder, below))) : await readFile(join(folder, below));
      hash.update(`${facts.isSymbolicLink() ? "link" : "file"}\0${below}\0${content.length}\0`).update(content);
    }
  };
  await visit("");
  return `sha256-${hash.digest("base64")}`;
}

/** Refuses a link out of the package: it would run code that was neither inspected nor hashed. Throws `SVC_PLUGIN_MANIFEST`. */
async function requireInside(folder: string, below: string): Promise<void> {
  const to = await realpath(join(folder, below)).catch(() => undefined);
  if (to === undefined || `${to}/`.startsWith(`${await realpath(folder)}/`)) return;
  throw fail("SVC_PLUGIN_MANIFEST", { file: join(folder, "package.json"), reason: `its file ${below} is a link that leads out of the package` });
}
