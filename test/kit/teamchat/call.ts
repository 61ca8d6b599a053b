import type { Arguments } from "./shapes.ts";
import type { Post, Room, Workspace, World } from "./world.ts";

/** A refusal in the platform's words. */
export class Refused extends Error {
  readonly error: string;
  readonly more: Readonly<Record<string, unknown>>;
  constructor(error: string, more: Readonly<Record<string, unknown>> = {}) {
    super(error);
    this.error = error;
    this.more = more;
  }
}

/** What a method works on. */
export interface Call {
  readonly world: World;
  readonly workspace: Workspace;
  readonly args: Readonly<Record<string, unknown>>;
  /** Where this server is. */
  readonly url: string;
  openSocket(): string;
  posted(room: Room, post: Post): void;
  fileUploaded(id: string): boolean;
}

/** One method of the Web API. */
export interface Method {
  readonly args: Arguments;
  readonly scopes: readonly string[];
  /** Asked with the token of the app, not of its bot. */
  readonly app?: true;
  run(call: Call): Record<string, unknown>;
}
