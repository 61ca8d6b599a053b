type Json = Readonly<Record<string, unknown>>;

/** State of a task, in any generation of the protocol. */
export type RemoteState = "working" | "completed" | "failed" | "canceled" | "rejected" | "input-required" | "auth-required";

/** Content of one message of a server. */
export interface Told {
  readonly taskId?: string;
  readonly contextId?: string;
  readonly state?: RemoteState;
  /** Words that come with the state. */
  readonly words?: string;
  /** Pieces of the answer. */
  readonly pieces: readonly Piece[];
  /** The pieces are the whole answer as it is, and not a part of it. */
  readonly whole?: true;
}

/** A piece of the answer. */
export interface Piece {
  readonly artifact: string;
  readonly text: string;
  /** Appends to the artifact; else replaces it. */
  readonly append: boolean;
}

const recordOf = (value: unknown): Json => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const STATES: readonly RemoteState[] = ["working", "completed", "failed", "canceled", "rejected", "input-required", "auth-required"];

/** Normalises a state: `TASK_STATE_INPUT_REQUIRED` and `input-required` are the same; an unknown one counts as working. */
function stateOf(value: unknown): RemoteState | undefined {
  if (typeof value !== "string") return undefined;
  const name = value
    .replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
  return STATES.find((state) => state === name) ?? "working";
}

/** The words of parts: text as it is, data as JSON, files by their address. */
function wordsOf(parts: unknown): string {
  return listOf(parts)
    .map((part) => {
      const { text, data, file, url } = recordOf(part);
      if (typeof text === "string") return text;
      if (data !== undefined) return `\n${JSON.stringify(data)}\n`;
      const address = textOf(url) ?? textOf(recordOf(file)["uri"]) ?? textOf(recordOf(file)["url"]);
      return address === undefined ? "" : `\n${address}\n`;
    })
    .join("");
}

/** Reads a result, of a call or of a stream, in any generation. */
export function readResult(value: unknown): Told {
  const result = recordOf(value);
  const { task, message, statusUpdate, artifactUpdate } = result;
  if (task !== undefined) return readTask(recordOf(task));
  if (message !== undefined) return readMessage(recordOf(message));
  if (statusUpdate !== undefined) return readStatus(recordOf(statusUpdate));
  if (artifactUpdate !== undefined) return readArtifact(recordOf(artifactUpdate));
  if (result["kind"] === "message" || (result["role"] !== undefined && result["parts"] !== undefined)) return readMessage(result);
  if (result["artifact"] !== undefined) return readArtifact(result);
  if (result["kind"] === "status-update" || result["final"] !== undefined) return readStatus(result);
  return readTask(result);
}

const ids = (result: Json, taskId: unknown): Pick<Told, "taskId" | "contextId"> => {
  const task = textOf(taskId);
  const context = textOf(result["contextId"]) ?? textOf(result["sessionId"]);
  return { ...(task === undefined ? {} : { taskId: task }), ...(context === undefined ? {} : { contextId: context }) };
};

function statusOf(status: unknown): Pick<Told, "state" | "words"> {
  const { state: name, message } = recordOf(status);
  const state = stateOf(name);
  const words = wordsOf(recordOf(message)["parts"]).trim();
  return { ...(state === undefined ? {} : { state }), ...(words === "" ? {} : { words }) };
}

const pieceOf = (artifact: unknown, append: boolean): Piece => {
  const { artifactId, index, parts } = recordOf(artifact);
  return { artifact: textOf(artifactId) ?? String(index ?? 0), text: wordsOf(parts), append };
};

const readTask = (task: Json): Told => ({
  ...ids(task, task["id"]),
  ...statusOf(task["status"]),
  pieces: listOf(task["artifacts"]).map((artifact) => pieceOf(artifact, false)),
  whole: true,
});

/** A server may answer with a message alone, without a task: that is the end. */
const readMessage = (message: Json): Told => ({
  ...ids(message, undefined),
  state: "completed",
  pieces: [{ artifact: "message", text: wordsOf(message["parts"]), append: false }],
});

const readStatus = (update: Json): Told => ({ ...ids(update, update["taskId"] ?? update["id"]), ...statusOf(update["status"]), pieces: [] });

function readArtifact(update: Json): Told {
  const append = update["append"] ?? recordOf(update["artifact"])["append"];
  return { ...ids(update, update["taskId"] ?? update["id"]), pieces: [pieceOf(update["artifact"], append === true)] };
}
