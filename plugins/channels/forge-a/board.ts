import { type Board, channelError, type ForgeAgent, svcError, type WorkItem, type WorkQuery } from "@svc/sdk";
import { type Api, at } from "./client.ts";
import type { Identities } from "./identities.ts";
import type { Labels } from "./labels.ts";
import { fieldsOf, numberOf, textOf, timeOf } from "./shapes.ts";

const LIMIT = 100;
const MOST = 1_000;
const PAGE = 100;

interface Place {
  readonly project: string;
  readonly iid: string;
}

/** Issues as the cards of boards: `<project>#<iid>`. The labels of a card say in which column it is. */
export function createBoard(started: () => { readonly api: Api; readonly identities: Identities; readonly labels: Labels }): Board {
  /** The last write of each card: moves of one card go one after the other. */
  const writes = new Map<string, Promise<unknown>>();

  async function listState(query: WorkQuery, project: string, state: WorkItem["state"], most: number, signal: AbortSignal): Promise<readonly WorkItem[]> {
    const { api, identities } = started();
    const { labels = [], since } = query;
    const asked = {
      state: state === "open" ? "opened" : "closed",
      scope: "all",
      order_by: "updated_at",
      sort: "desc",
      per_page: Math.min(PAGE, most),
      // Whatever was closed since then was changed since then as well.
      updated_after: since === undefined ? undefined : new Date(since).toISOString(),
      labels: labels.length === 0 ? undefined : labels.join(","),
    };
    const items: WorkItem[] = [];
    const agents = identities.agents();
    for await (const page of api.pages({ path: at("projects", project, "issues"), query: asked, token: identities.anyToken(), signal })) {
      for (const value of page) {
        const item = itemOf(value, project, agents);
        if (item !== undefined && item.state === state && (state === "open" || since === undefined || (item.closedAt ?? item.updatedAt) >= since))
          items.push(item);
      }
      if (items.length >= most) break;
    }
    return items.slice(0, most);
  }

  /** The projects that the token is a member of. */
  async function ownProjects(signal: AbortSignal): Promise<readonly string[]> {
    const { api, identities } = started();
    const paths: string[] = [];
    const query = { membership: "true", simple: "true", archived: "false" };
    for await (const page of api.pages({ path: at("projects"), query, token: identities.anyToken(), signal }))
      paths.push(...page.map((project) => textOf(fieldsOf(project).path_with_namespace)).filter((path) => path !== ""));
    return paths;
  }

  return {
    name: "forge_a",
    async list(query, signal) {
      const { limit = LIMIT, state, labels = [] } = query;
      const most = Math.min(MOST, limit);
      if (most < 1 || labels.some((label) => label.includes(","))) return [];
      const states = state === undefined ? (["open", "closed"] as const) : [state];
      const items: WorkItem[] = [];
      for (const project of query.projects ?? (await ownProjects(signal)))
        for (const one of states) items.push(...(await listState(query, project, one, most, signal)));
      return items.sort((left, right) => right.updatedAt - left.updatedAt).slice(0, most);
    },
    async get(id, signal) {
      const place = placeOf(id);
      if (place === undefined) return undefined;
      const { api, identities } = started();
      const { status, body } = await api.call({
        path: at("projects", place.project, "issues", place.iid),
        token: identities.anyToken(),
        signal,
        accept: [404],
      });
      if (status === 404) return undefined;
      const item = itemOf(body, place.project, identities.agents());
      return item && { ...item, text: textOf(fieldsOf(body).description) };
    },
    update(id, { addLabels = [], removeLabels = [], state }, signal) {
      const before = writes.get(id) ?? Promise.resolve();
      const write = before
        .catch(() => undefined)
        .then(async () => {
          signal.throwIfAborted();
          const place = placeOf(id);
          if (place === undefined) throw gone(id);
          const { api, identities, labels } = started();
          const token = identities.anyToken();
          await labels.require(place.project, addLabels, token, signal);
          const path = at("projects", place.project, "issues", place.iid);
          const change = {
            ...(addLabels.length === 0 ? {} : { add_labels: addLabels.join(",") }),
            ...(removeLabels.length === 0 ? {} : { remove_labels: removeLabels.filter((label) => !label.includes(",")).join(",") }),
            ...(state === undefined ? {} : { state_event: state === "closed" ? "close" : "reopen" }),
          };
          const { status, body } = await api.call({ method: "PUT", path, body: change, token, signal, accept: [404] });
          if (status === 404) throw gone(id);
          const item = itemOf(body, place.project, identities.agents());
          if (item === undefined) throw channelError("unknown", `${api.origin} changed ${id} and did not say how it is now`);
          return item;
        });
      writes.set(id, write);
      const forget = () => {
        if (writes.get(id) === write) writes.delete(id);
      };
      write.then(forget, forget);
      return write;
    },
    async labels(projects, signal) {
      signal.throwIfAborted();
      const { identities, labels } = started();
      return labels.read(projects, identities.anyToken(), signal);
    },
  };
}

const gone = (id: string) =>
  svcError("SVC_BOARD_ITEM", `The forge has no issue '${id.slice(0, 200)}', or does not show it to the token of channels.forge_a.`, { status: 404 });

/** `<project>#<iid>`; undefined for anything else. */
function placeOf(id: string): Place | undefined {
  const [, project, iid] = /^([^\s#?]{1,1000})#([1-9]\d{0,14})$/.exec(id) ?? [];
  return project === undefined || iid === undefined || project.split("/").some((part) => part === "" || part === "." || part === "..")
    ? undefined
    : { project, iid };
}

/** A card as the forge shows the issue; undefined for something else. */
function itemOf(value: unknown, project: string, agents: readonly ForgeAgent[]): WorkItem | undefined {
  const fields = fieldsOf(value);
  const iid = numberOf(fields.iid);
  const updatedAt = timeOf(fields.updated_at);
  if (iid === undefined || updatedAt === undefined) return undefined;
  const closed = fields.state === "closed";
  const closedAt = closed ? timeOf(fields.closed_at) : undefined;
  const url = textOf(fields.web_url);
  const assignees = (Array.isArray(fields.assignees) ? fields.assignees : []).map((user) => textOf(fieldsOf(user).username));
  const assigned = agents.filter(({ names }) => assignees.some((login) => names.includes(login.toLowerCase())));
  return {
    id: `${project}#${iid}`,
    title: textOf(fields.title),
    state: closed ? "closed" : "open",
    labels: (Array.isArray(fields.labels) ? fields.labels : []).map((label) => textOf(label) || textOf(fieldsOf(label).name)),
    updatedAt,
    project,
    assignees,
    ...(assigned.length === 0 ? {} : { agents: assigned.map(({ agent }) => agent) }),
    ...(closedAt === undefined ? {} : { closedAt }),
    ...(/^https?:\/\//.test(url) ? { url } : {}),
  };
}
