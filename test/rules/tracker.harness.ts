import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Board, definePlugin, type Plugin, svcError, type WorkItem } from "@svc/sdk";
import { afterEach } from "vitest";

/** An issue of the tracker. */
export interface Issue {
  project: string;
  number: number;
  title: string;
  state: "open" | "closed";
  labels: string[];
  updatedAt: number;
  closedAt?: number;
  assignees?: string[];
}

interface Put {
  readonly addLabels?: readonly string[];
  readonly removeLabels?: readonly string[];
  readonly state?: Issue["state"];
}

/** A tracker of issues as a server of its own, and the plugin whose board asks it. */
export interface Tracker {
  readonly plugin: Plugin<never>;
  readonly issues: Issue[];
  readonly labels: Set<string>;
  /** `GET /issues`, `PUT /issues/<id> {...}`: every request that came. */
  readonly requests: string[];
  writes(): readonly string[];
  /** The next request is answered like this; `after`: the change is made before. */
  fail(status: number | "cut", message?: string, after?: boolean): void;
  /** Changes wait until the answer is called. */
  hold(): () => void;
  issue(project: string, number: number, labels?: readonly string[], more?: Partial<Issue>): Issue;
  find(id: string): Issue;
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A real server on loopback; closed after the test. */
export async function startTracker({ name = "forge_a", readOnly = false, opaque = false } = {}): Promise<Tracker> {
  const issues: Issue[] = [];
  const labels = new Set<string>();
  const requests: string[] = [];
  const faults: { readonly status: number | "cut"; readonly message: string; readonly after: boolean }[] = [];
  let held: Promise<void> | undefined;
  // An opaque tracker's ids say nothing of the project, and its lists do not heed it.
  const idOf = ({ project, number }: Issue) => (opaque ? `T-${number}` : `${project}#${number}`);

  const put = (issue: Issue, { addLabels = [], removeLabels = [], state }: Put): void => {
    const missing = [...addLabels, ...removeLabels].find((label) => !labels.has(label));
    if (missing !== undefined) throw Object.assign(new Error(`label ${missing} does not exist`), { status: 422 });
    issue.labels = [...new Set([...issue.labels.filter((label) => !removeLabels.includes(label)), ...addLabels])];
    if (state !== undefined) issue.state = state;
    issue.updatedAt = Date.now();
    if (issue.state === "closed") issue.closedAt ??= Date.now();
    else delete issue.closedAt;
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://tracker");
    const id = decodeURIComponent(url.pathname.slice("/issues/".length));
    let text = "";
    for await (const part of request) text += part;
    requests.push(`${request.method} ${request.method === "PUT" ? `${id} ${text}` : `${id}${url.search}`}`);
    const fault = faults.shift();
    const say = (status: number, body: unknown) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    try {
      if (fault !== undefined && !fault.after) throw fault;
      const issue = issues.find((one) => idOf(one) === id);
      if (request.method === "PUT") {
        await held;
        if (issue === undefined) throw Object.assign(new Error("not found"), { status: 404 });
        put(issue, JSON.parse(text) as Put);
        if (fault !== undefined) throw fault;
        say(200, issue);
      } else if (id !== "") say(issue === undefined ? 404 : 200, issue ?? { message: "not found" });
      else {
        const wanted = (url.searchParams.get("labels") ?? "").split(",").filter(Boolean);
        const found = issues.filter(
          ({ project, state, labels: own, updatedAt }) =>
            (opaque || (url.searchParams.get("projects")?.split(",").includes(project) ?? true)) &&
            state === (url.searchParams.get("state") ?? state) &&
            wanted.every((label) => own.includes(label)) &&
            updatedAt >= Number(url.searchParams.get("since") ?? 0),
        );
        say(200, found.sort((a, b) => b.updatedAt - a.updatedAt).slice(0, Number(url.searchParams.get("limit") ?? 100)));
      }
    } catch (error) {
      const { status, message } = error as { status: number | "cut"; message: string };
      if (status === "cut") request.socket.destroy();
      else say(status, { message });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/issues`;

  const itemOf = (issue: Issue): WorkItem => {
    const { number, ...rest } = issue;
    return { id: idOf(issue), url: `https://forge.example/${number}`, ...rest };
  };
  async function call<T>(path: string, signal: AbortSignal, body?: unknown): Promise<T> {
    const response = await fetch(base + path, { signal, ...(body === undefined ? {} : { method: "PUT", body: JSON.stringify(body) }) });
    const answer = (await response.json()) as T & { message: string };
    if (!response.ok) throw svcError("SVC_TRACKER", answer.message, { status: response.status });
    return answer;
  }
  const board: Board = {
    name,
    async list({ projects, state, labels: wanted, since, limit }, signal) {
      const query = new URLSearchParams({
        ...(projects === undefined ? {} : { projects: projects.join() }),
        ...(state === undefined ? {} : { state }),
        ...(wanted === undefined ? {} : { labels: wanted.join() }),
        ...(since === undefined ? {} : { since: String(since) }),
        limit: String(limit ?? 100),
      });
      return (await call<Issue[]>(`/?${query}`, signal)).map(itemOf);
    },
    async get(id, signal) {
      try {
        return itemOf(await call<Issue>(`/${encodeURIComponent(id)}`, signal));
      } catch (error) {
        if ((error as { status?: number }).status === 404) return undefined;
        throw error;
      }
    },
    ...(readOnly
      ? {}
      : {
          async update(id, change, signal) {
            return itemOf(await call<Issue>(`/${encodeURIComponent(id)}`, signal, change));
          },
        }),
  };
  const plugin = definePlugin({
    kind: "board",
    name: name.replaceAll("_", "-"),
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup: (ctx) => ctx.provide.board(board),
  }) as unknown as Plugin<never>;

  return {
    plugin,
    issues,
    labels,
    requests,
    writes: () => requests.filter((line) => line.startsWith("PUT ")),
    fail: (status, message = "refused", after = false) => void faults.push({ status, message, after }),
    hold() {
      let resolve = () => {};
      held = new Promise((done) => {
        resolve = done;
      });
      return () => {
        held = undefined;
        resolve();
      };
    },
    issue(project, number, own = [], more = {}) {
      for (const label of own) labels.add(label);
      const issue: Issue = { project, number, title: `Issue ${number}`, state: "open", labels: [...own], updatedAt: Date.now() - number * 1_000, ...more };
      issues.push(issue);
      return issue;
    },
    find(id) {
      const found = issues.find((one) => idOf(one) === id);
      if (found === undefined) throw new Error(`no issue ${id}`);
      return found;
    },
  };
}
