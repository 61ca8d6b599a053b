import type { MediaReader } from "../picture.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./fields.ts";
import type { WorkspaceServer } from "./workspace-servers.ts";

/** Returns the answer to `session/request_permission`: allow or reject once, or `cancelled` where the program offers no such choice. */
export function permissionAnswer({ options }: Fields, allow: boolean): { readonly allowed: boolean; readonly result: Fields } {
  const chosen = listOf(options).find(({ kind }) => kind === (allow ? "allow_once" : "reject_once"));
  return {
    allowed: allow && chosen !== undefined,
    result: { outcome: chosen === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: chosen.optionId } },
  };
}

/** An ACP agent's description of itself in its answer to `initialize`. */
export interface AcpAgent {
  readonly version: number;
  /** Its name and version; empty where it does not say. */
  readonly name: string;
  readonly load: boolean;
  readonly resume: boolean;
  readonly close: boolean;
  readonly images: boolean;
  readonly http: boolean;
  readonly sse: boolean;
  /** Sign-in methods: ids and names. */
  readonly authMethods: readonly { readonly id: string; readonly name: string }[];
}

/** Parses that answer; missing fields stay absent. */
export function acpAgentOf(initialized: Fields): AcpAgent {
  const capabilities = fieldsOf(initialized.agentCapabilities);
  const session = fieldsOf(capabilities.sessionCapabilities);
  const { image } = fieldsOf(capabilities.promptCapabilities);
  const { http, sse } = fieldsOf(capabilities.mcpCapabilities);
  const info = fieldsOf(initialized.agentInfo);
  return {
    version: typeof initialized.protocolVersion === "number" ? initialized.protocolVersion : 0,
    name: [textOf(info.title) ?? textOf(info.name), textOf(info.version)].filter(Boolean).join(" "),
    load: capabilities.loadSession === true,
    resume: isObject(session.resume),
    close: isObject(session.close),
    images: image === true,
    http: http === true,
    sse: sse === true,
    authMethods: listOf(initialized.authMethods).map(({ id, name }) => ({ id: textOf(id) ?? "", name: textOf(name) ?? "" })),
  };
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Returns the tool servers in the protocol's format. */
export function acpServers(servers: readonly WorkspaceServer[]): Fields[] {
  const pairs = (map: Fields = {}): Fields[] => Object.entries(map).map(([name, value]) => ({ name, value: String(value) }));
  return servers.map((server) =>
    "command" in server
      ? { name: server.name, command: server.command, args: server.args, env: pairs(server.env) }
      : { type: "http", name: server.name, url: server.url, headers: pairs(server.headers) },
  );
}

/** Returns the pictures of a turn as content blocks, and a note that names the other files. */
export async function acpPictures(
  reader: MediaReader,
  media: Parameters<MediaReader["pictures"]>[0],
): Promise<{ readonly blocks: readonly Fields[]; readonly note: string }> {
  const { pictures, note } = await reader.pictures(media);
  return { blocks: pictures.map(({ data, type }) => ({ type: "image", mimeType: type, data: Buffer.from(data).toString("base64") })), note };
}
