import { svcError } from "../errors.ts";
import type { Confined, Files } from "../files.ts";

/**
 * Files in memory: `content` maps absolute paths to text or bytes and reflects writes. Paths outside the roots are refused with `SVC_FILE_OUTSIDE`,
 * missing files with `SVC_FILE_MISSING`. There are no links and no empty folders. Relative roots start at `/daemon`.
 */
export function createMemoryFiles(content: Map<string, string | Uint8Array> = new Map()): Files {
  const turns = new Map<string, Promise<unknown>>();
  const confined = (given: readonly string[]): Confined => {
    const roots = given.map((root) => normal(root, "/daemon"));
    const place = (path: string): string => {
      const full = normal(path, roots[0] ?? "/");
      if (path.includes("\0") || !roots.some((root) => full === root || full.startsWith(root === "/" ? "/" : `${root}/`))) {
        throw svcError("SVC_FILE_OUTSIDE", `The path ${JSON.stringify(path)} is outside of ${roots.join(", ")}; give one inside.`, { status: 403 });
      }
      return full;
    };
    const bytes = (path: string): Uint8Array => {
      const found = content.get(place(path));
      if (found === undefined) throw svcError("SVC_FILE_MISSING", `There is no file ${path}.`, { status: 404 });
      return typeof found === "string" ? new TextEncoder().encode(found) : found;
    };
    const files: Confined = {
      roots,
      async read(path, maxBytes) {
        const found = bytes(path);
        if (found.length > maxBytes) throw svcError("SVC_FILE_TOO_LARGE", `${path} has ${found.length} bytes; at most ${maxBytes} are read.`, { status: 413 });
        return found;
      },
      async write(path, data) {
        content.set(place(path), data);
      },
      async change(path, maxBytes, edit) {
        const full = place(path);
        const turn = (turns.get(full) ?? Promise.resolve()).then(async () => {
          const after = await edit(content.has(full) ? await files.read(path, maxBytes) : undefined);
          if (after !== undefined) content.set(full, after);
        });
        turns.set(
          full,
          turn.catch(() => undefined),
        );
        await turn;
      },
      async append(path, data) {
        const full = place(path);
        const before = content.has(full) ? new TextDecoder().decode(bytes(path)) : "";
        content.set(full, before + data);
      },
      async list(path) {
        const folder = place(path);
        const entries = new Map<string, { name: string; kind: "file" | "folder"; size: number; mtimeMs: number }>();
        for (const [file, data] of content) {
          if (!file.startsWith(`${folder}/`)) continue;
          const [name = "", ...rest] = file.slice(folder.length + 1).split("/");
          entries.set(name, { name, kind: rest.length ? "folder" : "file", size: rest.length ? 0 : Buffer.byteLength(data), mtimeMs: 0 });
        }
        if (entries.size === 0) throw svcError("SVC_FILE_MISSING", `There is no folder ${path}.`, { status: 404 });
        return [...entries.values()];
      },
      resolve: async (path) => place(path),
      async remove(path) {
        content.delete(place(path));
      },
    };
    return files;
  };
  return { under: (...roots) => confined(roots), own: confined(["/daemon/.svc/plugins/own"]), data: confined(["/daemon/.svc"]) };
}

function normal(path: string, base: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${base}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}
