import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { HttpRoute } from "@svc/sdk";

/** Scripts and styles of the pages. */
export const ASSETS = { prefix: "/call-page", folder: "ui", guard: "open" } as const;

/** A page loads files of this server only, must not be framed, and sends no referrer. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "permissions-policy": "camera=(self), microphone=(self), geolocation=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-cache",
} as const;

const UI = new URL(import.meta.url.endsWith(".ts") ? "./ui/" : "../ui/", import.meta.url);

/** The two pages. They carry no data, so they are open; what they show they get with the code behind the `#` of their address. */
export const pageRoutes = (): readonly HttpRoute[] =>
  (["call", "camera"] as const).map((kind) => ({
    method: "GET",
    path: `/${kind}/:id`,
    guard: "open",
    async handle(_request, reply) {
      for (const [name, value] of Object.entries(HEADERS)) reply.header(name, value);
      reply.send(await readFile(fileURLToPath(new URL(`${kind}.html`, UI)), "utf8"), "text/html; charset=utf-8");
    },
  }));
