import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";
import admin from "./admin/admin-answers.ts";
import tasks from "./tasks/task-answers.ts";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const date: Schema = { type: "string", format: "date-time" };

/** The document of all pages; with its ETag, 304. */
const page: readonly RouteAnswer[] = [{ type: "text/html" }, { status: 304 }];
const PAGES = ["/", "/live", "/inbox", "/processes", "/workflows", "/tasks", "/tasks/:id", "/plugins", "/panels/:id", "/admin", "/setup", "/workflows/editor"];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

const DaemonOfStore = objectOf(
  { name: text, boot: count, host: text, state: { type: "string", enum: ["alive", "draining", "silent"] }, beatMs: { type: "number" } },
  {
    pid: count,
    skewMs: { type: "number" },
    running: count,
    holds: listOf(text),
    version: text,
    url: text,
    troubles: { ...listOf(text), description: "What is not well there" },
  },
);

const PanelView = objectOf({ id: text, title: text, place: { type: "string", enum: ["page", "admin", "card"] }, module: text, guard: text });

export default {
  schemas: { ...tasks.schemas, ...admin.schemas, DaemonOfStore, PanelView },
  routes: {
    ...tasks.routes,
    ...admin.routes,
    ...Object.fromEntries(PAGES.map((path) => [`GET ${path}`, page])),
    // What the other dashboard answers to the same path.
    ...Object.fromEntries(METHODS.map((method) => [`${method} /api/via/:daemon/*`, [{ type: "*/*" }]])),
    "GET /api/me": [
      {
        json: objectOf(
          {
            node: text,
            version: text,
            may: objectOf({ read: flag, write: flag }),
            has: objectOf({ boards: flag, workflows: flag, editor: flag, presence: flag }),
            daemons: listOf(objectOf({ name: text, url: text })),
          },
          { token: objectOf({ name: text }) },
        ),
      },
    ],
    "GET /api/nodes": [
      {
        json: objectOf({
          nodes: listOf(DaemonOfStore),
          differences: listOf(objectOf({ path: text, groups: listOf(objectOf({ nodes: listOf(text), set: flag })) })),
        }),
      },
    ],
    "GET /api/panels": [{ json: objectOf({ panels: listOf(PanelView) }) }],
    "POST /api/ticket": [{ json: objectOf({}, { ticket: text, expiresAt: date }) }],
    "POST /api/sign-in": [{ json: objectOf({ token: text, expiresAt: date }) }],
    "POST /api/sign-out": [{ json: objectOf({ ended: flag }) }],
    "POST /dashboard/link": [{ json: objectOf({ url: text, expiresAt: date }) }],
  } as Answers["routes"],
} satisfies Answers;
