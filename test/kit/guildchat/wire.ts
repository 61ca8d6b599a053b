import type { IncomingMessage, ServerResponse } from "node:http";

/** A request as it came in. */
export interface Call {
  readonly method: string;
  /** Below `/api/v10`, such as `/channels/1/messages`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown> | undefined;
  readonly files: readonly { readonly field: string; readonly name: string; readonly type: string; readonly data: Uint8Array }[];
  readonly headers: IncomingMessage["headers"];
}

/** An answer of the API; without a body it is 204. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal in the platform's words. */
export const refusal = (status: number, code: number, message: string, more: object = {}): Answer => ({ status, body: { code, message, ...more } });

/** 400: a field of the body is wrong. */
export const badForm = (field: string, code: string, message: string): Answer =>
  refusal(400, 50_035, "Invalid Form Body", { errors: { [field]: { _errors: [{ code, message }] } } });

/** Reads a request. An answer is a refusal of what cannot be read. */
export async function readCall(request: IncomingMessage): Promise<Call | Answer> {
  const url = new URL(request.url ?? "", "http://x");
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const raw = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  const head = { method: request.method ?? "", path: url.pathname.replace(/^\/api\/v10/, ""), query: url.searchParams, headers: request.headers };
  if (raw.length === 0) return { ...head, body: undefined, files: [] };
  try {
    if (/^application\/json\b/.test(type)) return { ...head, body: parsed(raw.toString()), files: [] };
    if (!/^multipart\/form-data\b/.test(type)) return refusal(400, 50_109, "The request body contains invalid JSON.");
    const form = await new Response(raw, { headers: { "content-type": type } }).formData();
    const files: Call["files"][number][] = [];
    let body: Record<string, unknown> = {};
    for (const [field, value] of form.entries()) {
      if (field === "payload_json" && typeof value === "string") body = parsed(value);
      else if (typeof value !== "string") files.push({ field, name: value.name, type: value.type, data: new Uint8Array(await value.arrayBuffer()) });
      else return badForm(field, "UNKNOWN", "Unknown form field.");
    }
    return { ...head, body, files };
  } catch {
    return refusal(400, 50_109, "The request body contains invalid JSON.");
  }
}

/** Ids may come as numbers too, which are larger than what a number can hold here. */
const parsed = (text: string) => JSON.parse(text.replace(/("(?:message|channel|guild|recipient)_id":\s*)(\d+)/g, '$1"$2"'));

/** Writes an answer as the platform does. */
export function writeAnswer(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  if (body === undefined) {
    response.writeHead(status, headers);
    response.end();
    return;
  }
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

type Check = (value: unknown) => string | undefined;
const text =
  (most: number, least = 0): Check =>
  (value) =>
    typeof value !== "string"
      ? "STRING_TYPE_CONVERT"
      : value.length > most
        ? "BASE_TYPE_MAX_LENGTH"
        : value.length < least
          ? "BASE_TYPE_MIN_LENGTH"
          : undefined;
const snowflake: Check = (value) => (typeof value === "string" && /^\d{5,20}$/.test(value) ? undefined : "NUMBER_TYPE_COERCE");
const integer: Check = (value) => (Number.isInteger(value) ? undefined : "NUMBER_TYPE_COERCE");
const flag: Check = (value) => (typeof value === "boolean" ? undefined : "BOOLEAN_TYPE_CONVERT");
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value) ? undefined : "BASE_TYPE_CHOICES";
const list =
  (check: Check, most = 100): Check =>
  (value) =>
    !Array.isArray(value) ? "LIST_ITEM_VALUE_REQUIRED" : value.length > most ? "BASE_TYPE_BAD_LENGTH" : value.map(check).find((found) => found !== undefined);
/** Fields that are given must be known and right; those with `!` must be there. */
const record = (fields: Readonly<Record<string, Check>>): Check => {
  const known = new Map(Object.entries(fields).map(([name, check]) => [name.replace("!", ""), check]));
  const needed = Object.keys(fields).flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : []));
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return "DICT_TYPE_CONVERT";
    for (const name of needed) if (!(name in value)) return `BASE_TYPE_REQUIRED (${name})`;
    for (const [name, one] of Object.entries(value)) {
      const check = known.get(name);
      if (check === undefined) return `UNKNOWN_FIELD (${name})`;
      const found = check(one);
      if (found !== undefined) return found.includes("(") ? found : `${found} (${name})`;
    }
    return undefined;
  };
};

const MENTIONS = record({ parse: list(oneOf("roles", "users", "everyone")), users: list(snowflake), roles: list(snowflake), replied_user: flag });
const PRESSED = record({ "type!": oneOf(2), "style!": oneOf(1, 2, 3, 4), label: text(80, 1), "custom_id!": text(100, 1), disabled: flag });
const LINK = record({ "type!": oneOf(2), "style!": oneOf(5), label: text(80, 1), "url!": text(512, 1), disabled: flag });
const BUTTON: Check = (value) => ((value as { style?: unknown } | null)?.style === 5 ? LINK(value) : PRESSED(value));
const ROW = record({
  "type!": oneOf(1),
  "components!": (value) => list(BUTTON, 5)(value) ?? ((value as unknown[]).length === 0 ? "BASE_TYPE_BAD_LENGTH" : undefined),
});
const ATTACHMENT = record({
  "id!": (value) => (/^\d{1,20}$/.test(String(value)) ? undefined : "NUMBER_TYPE_COERCE"),
  filename: text(1024, 1),
  description: text(1024),
});
const common = { content: text(2_000), flags: integer, allowed_mentions: MENTIONS, components: list(ROW, 5), attachments: list(ATTACHMENT, 10) };

const SHAPES = {
  send: record({
    ...common,
    nonce: (value) => (integer(value) === undefined ? undefined : text(25)(value)),
    enforce_nonce: flag,
    tts: flag,
    message_reference: record({ type: integer, "message_id!": snowflake, channel_id: snowflake, guild_id: snowflake, fail_if_not_exists: flag }),
  }),
  edit: record({ ...common, tts: flag }),
  direct: record({ "recipient_id!": snowflake }),
  reply: record({ "type!": oneOf(4, 5, 6, 7), data: record({ ...common, tts: flag }) }),
  followUp: record({ ...common, tts: flag }),
  command: record({
    "name!": (value) => (typeof value === "string" && /^[-_\p{Ll}\p{N}]{1,32}$/u.test(value) ? undefined : "APPLICATION_COMMAND_INVALID_NAME"),
    type: oneOf(1),
    "description!": text(100, 1),
    options: list(
      record({ "type!": oneOf(3), "name!": text(32, 1), "description!": text(100, 1), required: flag, max_length: integer, min_length: integer }),
      25,
    ),
    contexts: list(oneOf(0, 1, 2)),
    integration_types: list(oneOf(0, 1)),
    default_member_permissions: (value) => (value === null ? undefined : text(40)(value)),
  }),
} as const;

/** What is wrong with a body of that shape. */
export function formProblem(shape: keyof typeof SHAPES, body: unknown): Answer | undefined {
  const found = SHAPES[shape](body ?? {});
  if (found === undefined) return undefined;
  const [, code = found, field = "body"] = /^(\S+) \((\w+)\)$/.exec(found) ?? [];
  return badForm(field, code, code === "BASE_TYPE_MAX_LENGTH" ? "Must be 2000 or fewer in length." : `This field is not right: ${code}.`);
}
