import type { HttpRoute } from "@svc/sdk";

/** Of every answer of this server: a page may load this server's files only, and may not be framed. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
};

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>svc</title>
<h1>svc</h1>
<p>The dashboard server is up. Its data is under <code>/api</code>:</p>
<ul>
<li><code>GET /api/live</code>, <code>/api/agents</code>, <code>/api/task/history</code></li>
<li><code>GET /api/live/stream</code>, <code>/api/task/stream</code></li>
<li><code>POST /api/task/action</code></li>
<li><code>POST /api/public/agents/&lt;id&gt;/messages</code></li>
</ul>
<p>Make a token with <code>svc token create</code> and send it as <code>Authorization: Bearer</code>.</p>
</html>
`;

/** `GET /` (AUTH-12): says where the API is. It carries no data, so it is open. */
export function pageRoute(): HttpRoute {
  return { server: "dashboard", method: "GET", path: "/", guard: "open", handle: (_request, reply) => reply.send(PAGE, "text/html; charset=utf-8") };
}
