import { codeOf, type GuardedFetch, type SvcError } from "@svc/sdk";
import { answeredError, restOf, unreachableError } from "./failure.ts";
import { createLimits } from "./limits.ts";
import { PUBLIC_API } from "./settings.ts";

/** A file to send. */
export interface Upload {
  readonly name: string;
  readonly type?: string;
  readonly data: Uint8Array;
}

/** A call of the API. */
export interface ApiCall {
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Its parts encoded: `at` does it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  readonly upload?: Upload;
  readonly signal: AbortSignal;
  /** False: the path itself holds the right to call. */
  readonly token?: false;
}

/** The REST API. Errors are those of `channelError`; nothing is tried again here. */
export interface Api {
  call<T>(call: ApiCall): Promise<T>;
  /** The bytes at an address that a message named. No token goes there. */
  download(
    url: string,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly data: Uint8Array; readonly type?: string; readonly whole: boolean }>;
  /** Origins of the configuration, for the gateway of a server that is not the public one. */
  readonly trusted: readonly string[];
}

const VERSION = "v10";
/** The platform refuses clients that do not name themselves like this. */
const AGENT = "DiscordBot (https://www.npmjs.com/package/@svc/channel-guildchat, 0.1.0)";
/** A hundred of the longest messages. */
const ANSWER_BYTES = 16 * 1_048_576;
const CALL_MS = 55_000;

/** Parts of a path, encoded. */
export const at = (...parts: readonly string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

/** Makes the client. An `apiRoot` is an address of the configuration. */
export function createApi({ fetch }: { readonly fetch: GuardedFetch }, token: string, apiRoot?: string): Api {
  const base = `${(apiRoot ?? PUBLIC_API).replace(/\/+$/, "").replace(/\/v\d+$/, "")}/${VERSION}`;
  const { origin } = new URL(base);
  const trusted = apiRoot === undefined ? [] : [origin];
  const limits = createLimits();

  async function call<T>({ method = "GET", path, query = {}, body, upload, signal, token: auth }: ApiCall): Promise<T> {
    const bucket = bucketOf(method, path);
    await limits.pass(bucket, signal);
    const search = new URLSearchParams(Object.entries(query).map(([key, value]): [string, string] => [key, String(value)])).toString();
    const form = upload === undefined ? undefined : multipart(body, upload);
    const answer = await fetch(`${base}${path}${search === "" ? "" : `?${search}`}`, {
      method,
      headers: {
        "user-agent": AGENT,
        ...(auth === false ? {} : { authorization: `Bot ${token}` }),
        ...(form !== undefined ? { "content-type": form.type } : body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(form !== undefined ? { body: form.data } : body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
      maxBytes: ANSWER_BYTES,
      timeoutMs: CALL_MS,
      redirect: "manual",
      trustedOrigins: trusted,
    }).catch((error: unknown): SvcError => unreachableError(method !== "GET", error));
    if (answer instanceof Error) throw answer;
    const parsed = parse(answer.text());
    if (answer.status >= 200 && answer.status < 300) {
      limits.note(bucket, answer.headers);
      return parsed as T;
    }
    const refused = { status: answer.status, headers: answer.headers, body: parsed };
    if (answer.status === 429) {
      const all = answer.headers["x-ratelimit-global"] === "true" || (parsed as { global?: unknown } | undefined)?.global === true;
      limits.refused(bucket, restOf(refused), all);
    }
    throw answeredError(method !== "GET", refused);
  }

  return {
    call,
    trusted,
    async download(url, maxBytes, signal) {
      try {
        const { status, body, headers, truncated } = await fetch(url, { signal, maxBytes, trustedOrigins: trusted, headers: { "user-agent": AGENT } });
        return { status, data: body, whole: !truncated, ...(headers["content-type"] === undefined ? {} : { type: headers["content-type"] }) };
      } catch (error) {
        if (codeOf(error) === "SVC_FETCH_TOO_LARGE") return { status: 200, data: new Uint8Array(), whole: false };
        throw unreachableError(false, error);
      }
    },
  };
}

/** The platform counts by the kind of call and the channel, guild or webhook that it is for. */
const bucketOf = (method: string, path: string): string =>
  `${method} ${path.replace(/(?<=\/reactions\/).*/, "").replace(/(?<!^\/(?:channels|guilds|webhooks))\/[0-9]{5,20}/g, "/n")}`;

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A body with a file, as `multipart/form-data`. */
function multipart(body: unknown, { name, type = "application/octet-stream", data }: Upload): { readonly data: Uint8Array; readonly type: string } {
  const boundary = `svc-${crypto.randomUUID()}`;
  // Neither a quote nor a line break may end the header early.
  const safe = name.replace(/["\r\n\\]/g, "_");
  const head = [
    `--${boundary}\r\ncontent-disposition: form-data; name="payload_json"\r\ncontent-type: application/json\r\n\r\n${JSON.stringify(body)}\r\n`,
    `--${boundary}\r\ncontent-disposition: form-data; name="files[0]"; filename="${safe}"\r\ncontent-type: ${/^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream"}\r\n\r\n`,
  ].join("");
  return { data: Buffer.concat([Buffer.from(head), data, Buffer.from(`\r\n--${boundary}--\r\n`)]), type: `multipart/form-data; boundary=${boundary}` };
}
