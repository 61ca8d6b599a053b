import { randomUUID } from "node:crypto";
import type { CliHost } from "@svc/sdk";
import { COMMON, type Dialect } from "./dialect.ts";
import { RpcError } from "./rpc.ts";
import type { Task } from "./task.ts";

/** Where a caller wants to be told of a task. */
export interface Notification {
  readonly id: string;
  readonly url: string;
  /** Sent along, so that the receiver knows us. */
  readonly token?: string;
  /** A bearer for the receiver. */
  readonly bearer?: string;
}

interface Kept extends Notification {
  readonly dialect: Dialect;
}

const MOST_OF_A_TASK = 5;
const TRIES = 4;
const FIRST_PAUSE_MS = 1_000;

/** Addresses that are told when a task starts to work and when it is over. In memory, as the tasks are. */
export class Notifications {
  readonly #of = new WeakMap<Task, Kept[]>();
  readonly #cli: Pick<CliHost, "request">;

  constructor(cli: Pick<CliHost, "request">) {
    this.#cli = cli;
  }

  /** Throws `RpcError` for an address that is never used. */
  add(task: Task, given: unknown, dialect: Dialect): Notification {
    const { id, url, token, authentication } = (typeof given === "object" && given !== null ? given : {}) as Readonly<Record<string, unknown>>;
    if (typeof url !== "string" || url.length > 2_000 || !URL.canParse(url) || new URL(url).protocol !== "https:")
      throw new RpcError("params", "'url' must be an https address.");
    const known = this.#of.get(task) ?? [];
    if (known.length === 0) this.#listen(task);
    const notification: Kept = {
      id: typeof id === "string" && id !== "" && id.length <= 200 ? id : randomUUID(),
      url,
      dialect,
      ...(typeof token === "string" && token.length <= 1_000 ? { token } : {}),
      ...bearerOf(authentication),
    };
    const kept = [...known.filter((one) => one.id !== notification.id), notification];
    if (kept.length > MOST_OF_A_TASK) throw new RpcError("params", `A task tells ${MOST_OF_A_TASK} addresses at most.`);
    this.#of.set(task, kept);
    return notification;
  }

  list(task: Task): readonly Notification[] {
    return this.#of.get(task) ?? [];
  }

  remove(task: Task, id: unknown): void {
    this.#of.set(
      task,
      (this.#of.get(task) ?? []).filter((one) => one.id !== id),
    );
  }

  #listen(task: Task): void {
    task.listen((frame) => {
      // Its start and its end; not each step between.
      if (frame.kind !== "status" || (frame.words !== undefined && !task.isFinal)) return;
      for (const one of this.#of.get(task) ?? []) void this.#tell(one, one.dialect === COMMON ? COMMON.task(task) : one.dialect.frame(task, frame));
    });
  }

  /** Busy and unreachable ones are told again, some times. */
  async #tell({ url, token, bearer }: Kept, payload: object): Promise<void> {
    const body = { url, payload, ...(token === undefined ? {} : { token }), ...(bearer === undefined ? {} : { bearer }) };
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const answer = await this.#cli.request("POST", "/a2a/notify", body).catch(() => undefined);
      const status = (answer as { status?: number } | undefined)?.status ?? 0;
      if (status > 0 && status < 500 && status !== 429) return;
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** tries).unref());
    }
  }
}

/** Generation 0.3 names schemes, 1.0 one scheme; a bearer is what both know. */
function bearerOf(authentication: unknown): { bearer?: string } {
  const { schemes, scheme, credentials } = (typeof authentication === "object" && authentication !== null ? authentication : {}) as Readonly<
    Record<string, unknown>
  >;
  const names = [scheme, ...(Array.isArray(schemes) ? schemes : [])].map((name) => String(name).toLowerCase());
  return names.includes("bearer") && typeof credentials === "string" && credentials.length <= 4_000 ? { bearer: credentials } : {};
}
