import { RpcError } from "./rpc.ts";

/** A caller's message, as text for an agent. */
export interface Said {
  readonly text: string;
  readonly messageId?: string;
  readonly taskId?: string;
  readonly contextId?: string;
}

type Json = Readonly<Record<string, unknown>>;

const MOST_TEXT = 200_000;
const MOST_PARTS = 100;
const TEXT_TYPE = /^(text\/|application\/(json|xml|yaml|x-yaml|toml|javascript)\b)|\+(json|xml)$/;

/**
 * Reads a message in any dialect: parts are told apart by `type`, by `kind`, or by the member they have. Data comes as JSON, files of text
 * with their words, addresses as they are. Throws `RpcError` for anything else, and for files that are no text.
 */
export function readMessage(value: unknown): Said {
  const { parts, messageId, taskId, contextId } = recordOf(value, "'message' must be an object.");
  if (!Array.isArray(parts) || parts.length === 0) throw new RpcError("params", "'message.parts' must be a list with at least one part.");
  if (parts.length > MOST_PARTS) throw new RpcError("params", `'message.parts' must not have more than ${MOST_PARTS} parts.`);
  const text = parts.map((part, at) => wordsOf(recordOf(part, `'message.parts[${at}]' must be an object.`), at)).join("\n\n");
  if (text.trim() === "") throw new RpcError("params", "'message.parts' hold no words.");
  if (text.length > MOST_TEXT) throw new RpcError("params", `A message may have ${MOST_TEXT} characters; this one has ${text.length}.`);
  return { text, ...named({ messageId, taskId, contextId }) };
}

/** The members that are texts of a usable length. */
export function named<K extends string>(given: Readonly<Record<K, unknown>>): Partial<Record<K, string>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => typeof value === "string" && value !== "" && value.length <= 200)) as Partial<
    Record<K, string>
  >;
}

function recordOf(value: unknown, message: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new RpcError("params", message);
  return value as Json;
}

function wordsOf(part: Json, at: number): string {
  if (typeof part["text"] === "string") return part["text"];
  // Not indented: deep data of few bytes would grow to a long text.
  if (part["data"] !== undefined) return `\`\`\`json\n${JSON.stringify(part["data"])}\n\`\`\``;
  // Generation 1.0 has the file's members in the part itself.
  const file = typeof part["file"] === "object" && part["file"] !== null ? (part["file"] as Json) : part;
  // The name is part of a line of ours.
  const name = String(file["name"] ?? file["filename"] ?? "file")
    .slice(0, 200)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ");
  const type = String(file["mimeType"] ?? file["mediaType"] ?? "").toLowerCase();
  const bytes = file["bytes"] ?? file["raw"];
  const address = file["uri"] ?? file["url"];
  if (typeof bytes === "string") return fileOf(name, type, bytes, at);
  if (typeof address === "string") return `File '${name}'${type === "" ? "" : ` (${type})`}: ${address.slice(0, 2_000)}`;
  throw new RpcError("params", `'message.parts[${at}]' has neither text, data nor a file.`);
}

function fileOf(name: string, type: string, bytes: string, at: number): string {
  if (!TEXT_TYPE.test(type))
    throw new RpcError("contentType", `'message.parts[${at}]' is a file of the type ${type || "unknown"}; files of text and addresses are taken.`);
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(bytes)) throw new RpcError("params", `'message.parts[${at}]' is no base64.`);
  try {
    return `File '${name}' (${type}):\n${new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(bytes, "base64"))}`;
  } catch {
    throw new RpcError("contentType", `'message.parts[${at}]' is no UTF-8 text.`);
  }
}
