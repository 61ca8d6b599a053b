import type { ForgeAnswer, ForgeRequest, ForgeUser } from "../forge-server.ts";
import type { InstallationToken, JudgingApp } from "./app.ts";
import type { Rendering } from "./render.ts";
import { type Issue, type Repository, roleOf, type World } from "./world.ts";

/** Who asks: a user by a token, the App itself, or one of its installations. */
export interface Caller {
  readonly user?: ForgeUser;
  readonly app?: true;
  readonly installation?: InstallationToken;
}

/** What the calls of the API work on. */
export interface Forge {
  readonly url: string;
  readonly world: World;
  readonly app: JudgingApp;
  readonly rendering: Rendering;
  /** Installation tokens are good for so long, in milliseconds. */
  readonly tokenMs: number;
  now(): number;
  /** Lists show what is older than this. */
  visible(): number;
  changed(event: string, action: string, about: object, by: ForgeUser): void;
  readonly deliveries: {
    list(status: string | undefined): readonly object[];
    again(id: number): boolean;
  };
}

/** A call that the published API takes, with what it asks for. */
export interface Call {
  readonly forge: Forge;
  readonly caller: Caller;
  readonly request: ForgeRequest;
  readonly values: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: held against the published schema before a call is made
  readonly body: any;
}

/** One call of the API. `needs` are permissions of which an installation must have one. */
export interface Route {
  readonly needs?: readonly string[];
  /** A JWT of the App, not a token. */
  readonly app?: true;
  run(call: Call): ForgeAnswer;
}

/** Thrown in a route: what is answered in place of a result. */
export class Refusal extends Error {
  readonly answer: ForgeAnswer;
  constructor(status: number, message: string, errors?: readonly unknown[]) {
    super(message);
    this.answer = {
      status,
      body: { message, ...(errors === undefined ? {} : { errors }), documentation_url: "https://docs.github.com/rest", status: String(status) },
    };
  }
}

/** The forge does not tell what there is from what one may not see. */
export const notFound = () => new Refusal(404, "Not Found");

/** The repository of the path, where the caller may see it. */
export function repositoryOf({ forge, caller, values }: Call): Repository {
  const found = forge.world.repositories.get(`${values.owner}/${values.repo}`.toLowerCase());
  if (found === undefined) throw notFound();
  const { installation } = caller;
  const seen =
    installation === undefined ? caller.user !== undefined && roleOf(found, caller.user) !== "none" : installation.repositories.has(found) || !found.private;
  if (!seen) throw notFound();
  return found;
}

/** The issue or request of the path. */
export function issueOf(call: Call): Issue {
  const found = repositoryOf(call).issues.get(Number(call.values.issue_number ?? call.values.pull_number));
  if (found === undefined || (call.values.pull_number !== undefined && found.request === undefined)) throw notFound();
  return found;
}

/** As whom the caller writes. */
export function authorOf({ forge, caller }: Call): ForgeUser {
  return caller.user ?? forge.world.user(`${forge.app.slug}[bot]`);
}

/** Throws unless the caller has that right in the repository; an installation's was judged by its permissions. */
export function mustHave({ caller }: Call, repository: Repository, role: "write" | "triage"): void {
  if (caller.installation !== undefined) {
    if (!caller.installation.repositories.has(repository)) throw new Refusal(403, "Resource not accessible by integration");
    return;
  }
  const has = roleOf(repository, caller.user as ForgeUser);
  if (has !== "write" && has !== role) throw new Refusal(403, `Must have ${role === "write" ? "push" : "triage"} access to the repository.`);
}

const LONGEST_TEXT = 65_536;

/** The text of a comment; too long and empty ones are refused as the forge does. */
export function textOf(text: string): string {
  if (text.trim() === "")
    throw new Refusal(422, "Validation Failed", [{ resource: "IssueComment", code: "unprocessable", field: "data", message: "Body cannot be blank" }]);
  if ([...text].length > LONGEST_TEXT)
    throw new Refusal(422, "Validation Failed", [
      { resource: "IssueComment", code: "unprocessable", field: "data", message: "Body is too long (maximum is 65536 characters)" },
    ]);
  return text;
}

/** One page, with the addresses of the others. */
export function page({ forge, request }: Call, all: readonly unknown[]): ForgeAnswer {
  const size = Math.min(Number(request.query.get("per_page") ?? 30) || 30, 100);
  const number = Number(request.query.get("page") ?? 1) || 1;
  const last = Math.max(1, Math.ceil(all.length / size));
  const address = (to: number) => {
    const query = new URLSearchParams(request.query);
    query.set("page", String(to));
    return `<${forge.url}${request.path}?${query}>`;
  };
  const links = [
    ...(number > 1 ? [`${address(1)}; rel="first"`, `${address(number - 1)}; rel="prev"`] : []),
    ...(number < last ? [`${address(number + 1)}; rel="next"`, `${address(last)}; rel="last"`] : []),
  ];
  return { status: 200, body: all.slice((number - 1) * size, number * size), ...(links.length === 0 ? {} : { headers: { link: links.join(", ") } }) };
}

interface Dated {
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What changed since the time that the query names, in the order that it names. */
export function listed<T extends Dated>(
  { forge, request: { query } }: Call,
  all: readonly T[],
  usual: { readonly sort?: "created" | "updated"; readonly direction?: "asc" | "desc" } = {},
): readonly T[] {
  const since = query.get("since") === null ? 0 : Date.parse(query.get("since") as string);
  const key = (query.get("sort") ?? usual.sort ?? "created") === "updated" ? "updatedAt" : "createdAt";
  const sign = (query.get("direction") ?? usual.direction ?? "asc") === "asc" ? 1 : -1;
  return all
    .filter(({ createdAt, updatedAt }) => createdAt <= forge.visible() && Math.floor(updatedAt / 1000) * 1000 >= since)
    .sort((left, right) => sign * (left[key] - right[key]));
}
