import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { HttpRoute } from "@svc/sdk";
import { fail } from "./errors.ts";

/** Of every answer of this server: a page may load this server's files only, and may not be framed. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
};

/** Where the build puts the pages: beside this code, or in `dist` where the sources run by themselves. */
const BUILT = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./dist/ui/" : "./ui/", import.meta.url));

/** Scripts and styles of the pages: their names change with their bytes. */
export const ASSETS = { server: "dashboard", prefix: "/assets", folder: `${BUILT}assets`, guard: "open", immutable: true } as const;

/** Addresses of the pages: the browser renders them. */
const PATHS = ["/", "/live", "/inbox", "/processes", "/workflows", "/tasks", "/tasks/:id", "/plugins", "/panels/:id", "/admin", "/setup"] as const;

/**
 * The pages (AUTH-12): one document for all of them. It carries no data, so it is open; it is read when somebody asks. The editor's page is
 * there only where workflows may be edited.
 */
export function pageRoutes(editing: () => Promise<boolean>): HttpRoute[] {
  const path = "/workflows/editor";
  const { handle, ...editor } = pageRoute(path);
  return [
    ...PATHS.map(pageRoute),
    {
      ...editor,
      async handle(request, reply) {
        if (!(await editing())) throw fail("SVC_DASHBOARD_NOT_FOUND", { method: request.method, target: path });
        await handle(request, reply);
      },
    },
  ];
}

function pageRoute(path: string): HttpRoute {
  return {
    server: "dashboard",
    method: "GET",
    path,
    guard: "open",
    async handle({ headers }, reply) {
      const page = await readFile(`${BUILT}index.html`, "utf8").catch((cause: unknown) => {
        throw fail("SVC_DASHBOARD_UNBUILT", { folder: BUILT, cause });
      });
      const tag = `"${createHash("sha256").update(page).digest("base64url").slice(0, 22)}"`;
      reply.header("cache-control", "no-cache").header("etag", tag);
      if (headers["if-none-match"] === tag) reply.status(304).send("", "text/html; charset=utf-8");
      else reply.send(page, "text/html; charset=utf-8");
    },
  };
}
