import { KIT } from "../words/kit.ts";

const CANCELLED = "CANCELLED";

/** A request that failed: with what the server said, or `status` 0 where none answered. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Where in the document or the body. */
  readonly path: string | undefined;
  readonly field: string | undefined;
  /** The whole body of the answer. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, details: Readonly<Record<string, unknown>>) {
    const text = (name: string) => (typeof details[name] === "string" ? (details[name] as string) : undefined);
    super(text("error") ?? text("message") ?? `The server answered ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.code = text("code") ?? "";
    this.path = text("path");
    this.field = text("field");
    this.details = details;
  }
}

/** A person stopped the reading. */
export const cancelled = (): ApiError => new ApiError(0, { error: KIT.stopped, code: CANCELLED });

/** Whether a person stopped it: then it is read again only when they ask. */
export const isCancelled = (error: ApiError | undefined): boolean => error?.code === CANCELLED;
