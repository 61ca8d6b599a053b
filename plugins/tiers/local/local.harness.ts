import { join } from "node:path";
import type { Confined, Files } from "@svc/sdk";
import { createMemoryFiles } from "@svc/sdk/testing";

/** Files as the daemon lends them, over node's own: confinement is the kernel's and tested there. */
export async function realFiles(reads: string[]): Promise<Files> {
  const { readdir, readFile, stat } = await import("node:fs/promises");
  const memory = createMemoryFiles();
  const under = (root: string): Confined => ({
    ...memory.under(root),
    roots: [root],
    read: async (path: string) => {
      reads.push(path);
      return readFile(join(root, path));
    },
    list: async (path: string) =>
      Promise.all(
        (await readdir(join(root, path), { withFileTypes: true })).map(async (entry) => {
          const { size, mtimeMs } = await stat(join(root, path, entry.name));
          return { name: entry.name, kind: entry.isDirectory() ? ("folder" as const) : ("file" as const), size, mtimeMs };
        }),
      ),
  });
  return { under: (...roots: readonly string[]) => under(roots[0] as string), own: under("/nowhere"), data: under("/nowhere") };
}
