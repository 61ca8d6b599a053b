import { createHash } from "node:crypto";
import type { ForgeRight, ForgeUser } from "../forge-server.ts";

/** A reaction of somebody to a comment or an issue. */
export interface Reaction {
  readonly id: number;
  readonly by: ForgeUser;
  readonly content: string;
}

/** What the three kinds of comments have in common. */
export interface Comment {
  readonly id: number;
  readonly kind: "issue" | "review" | "commit";
  readonly repository: Repository;
  /** Of a comment of an issue or request. */
  readonly issue?: Issue;
  readonly sha?: string;
  readonly by: ForgeUser;
  text: string;
  readonly createdAt: number;
  updatedAt: number;
  readonly path?: string;
  readonly line?: number;
  readonly side?: "LEFT" | "RIGHT";
  /** Of a comment on a commit: the line's place in the diff. */
  readonly position?: number;
  /** The first comment of its thread. */
  readonly inReplyTo?: number;
  readonly review?: Review;
  readonly reactions: Reaction[];
}

/** A review with its own words. */
export interface Review {
  readonly id: number;
  readonly by: ForgeUser;
  text: string;
  readonly state: "APPROVED" | "CHANGES_REQUESTED" | "COMMENTED";
  readonly submittedAt: number;
  updatedAt: number;
}

/** An issue, or with `request` a pull request. */
export interface Issue {
  readonly id: number;
  readonly number: number;
  readonly repository: Repository;
  readonly by: ForgeUser;
  readonly title: string;
  text: string;
  labels: string[];
  state: "open" | "closed";
  locked: boolean;
  readonly createdAt: number;
  updatedAt: number;
  readonly reactions: Reaction[];
  readonly request?: { readonly head: string; readonly base: string; readonly sha: string; readonly fork: boolean; readonly reviews: Review[] };
}

/** A repository with what is in it. */
export interface Repository {
  readonly id: number;
  readonly path: string;
  readonly private: boolean;
  readonly members: Map<string, ForgeRight>;
  readonly labels: string[];
  readonly issues: Map<number, Issue>;
  readonly commits: Set<string>;
}

/** A file that was put into a comment. */
export interface Upload {
  readonly id: string;
  readonly data: Uint8Array;
  readonly login: boolean;
  readonly redirect?: string;
}

/** All that the forge keeps. */
export interface World {
  readonly users: Map<string, ForgeUser>;
  readonly tokens: Map<string, string>;
  readonly repositories: Map<string, Repository>;
  readonly comments: Map<number, Comment>;
  readonly uploads: Map<string, Upload>;
  id(): number;
  user(login: string): ForgeUser;
  repository(path: string): Repository;
  issue(path: string, number: number): Issue;
  comment(id: number): Comment;
  review(id: number): { readonly issue: Issue; readonly review: Review } | undefined;
}

/** Throws an error for a name that the test did not make: a mistake of the test. */
const known = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new Error(`the far end of forge_b has no ${what}`);
  return value;
};

/** An empty forge. */
export function createWorld(): World {
  let last = 1000;
  const world: World = {
    users: new Map(),
    tokens: new Map(),
    repositories: new Map(),
    comments: new Map(),
    uploads: new Map(),
    id: () => ++last,
    user: (login) => known(world.users.get(login.toLowerCase()), `user ${login}`),
    repository: (path) => known(world.repositories.get(path.toLowerCase()), `repository ${path}`),
    issue: (path, number) => known(world.repository(path).issues.get(number), `issue ${path}#${number}`),
    comment: (id) => known(world.comments.get(id), `comment ${id}`),
    review(id) {
      for (const repository of world.repositories.values())
        for (const issue of repository.issues.values()) {
          const review = issue.request?.reviews.find((one) => one.id === id);
          if (review !== undefined) return { issue, review };
        }
      return undefined;
    },
  };
  return world;
}

/** A hash as commits have. */
export const shaOf = (words: string): string => createHash("sha1").update(words).digest("hex");

/** What somebody may do: a member as granted, anyone to read what is public. */
export function roleOf({ members, private: closed }: Repository, { login }: ForgeUser): "write" | "triage" | "read" | "none" {
  const right = members.get(login.toLowerCase()) ?? "none";
  if (right === "write") return "write";
  if (right === "report") return "triage";
  return closed ? "none" : "read";
}
