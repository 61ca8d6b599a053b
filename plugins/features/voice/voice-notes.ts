import { createHash } from "node:crypto";
import { basename } from "node:path";
import { type Collection, codeOf, type Inbound, type Log, type Media, reasonOf, type Transcription, type Turn, type TurnContext } from "@svc/sdk";

/** Under the limit of the hook, so that a slow recogniser costs its words and not the whole tap. */
const PATIENCE_MS = 27_000;

/** The words of a recording, kept for a turn that is begun once more after a restart. */
export interface NoteRow {
  readonly text: string;
  readonly at: number;
}

/** Dependencies of voice notes. */
export interface NoteDeps {
  readonly rows: Collection<NoteRow>;
  transcription(): Transcription | undefined;
  readonly log: Log;
}

/** Audio that lies on this machine. */
export const isNote = ({ kind, path }: Media): boolean => kind === "audio" && path !== undefined;

/** The turn's prompt with the words of its voice notes, each once; the files stay where they are. */
export async function withNotes(context: TurnContext, turn: Turn, deps: NoteDeps, signal: AbortSignal): Promise<TurnContext> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const heard = await Promise.all(
    turn.messages.flatMap((message) => (message.media ?? []).filter(isNote).map((media) => heardOf(message, media, turn.messages.length > 1, deps, ends))),
  );
  return { ...context, prompt: [context.prompt, ...heard].filter((part) => part.trim() !== "").join("\n\n") };
}

async function heardOf(message: Inbound, media: Media, isOneOfSeveral: boolean, deps: NoteDeps, signal: AbortSignal): Promise<string> {
  const who = isOneOfSeveral && message.sender?.name !== undefined ? ` of ${message.sender.name.replace(/[\p{C}\p{Z}]+/gu, " ").slice(0, 80)}` : "";
  try {
    const text = await wordsOf(message.id, media, deps, signal);
    return text === "" ? `(voice note${who}: nothing was said)` : `(voice note${who}, spoken:) ${text}`;
  } catch (error) {
    const isOff = codeOf(error) === "SVC_TRANSCRIPTION_OFF";
    const reason = signal.aborted ? "the recogniser did not answer in time" : reasonOf(error);
    deps.log.warn({ task: message.id, reason }, "a voice note was not turned into words");
    // The sender must not see a secret of the operator's configuration: only the log has the reason.
    return `(voice note${who}: it could not be turned into words${isOff ? ", as nothing here does that" : ", the recogniser failed"}; its file is ${media.name ?? basename(media.path ?? "")})`;
  }
}

async function wordsOf(task: string, media: Media, { rows, transcription }: NoteDeps, signal: AbortSignal): Promise<string> {
  const key = createHash("sha256").update(`${task}\n${media.path}`).digest("hex").slice(0, 40);
  const before = await rows.get(key);
  if (before !== undefined) return before.value.text;
  const served = transcription();
  if (served === undefined) throw Object.assign(new Error("no plugin turns speech into words"), { code: "SVC_TRANSCRIPTION_OFF" });
  const { text } = await served.transcribe({ audio: media.path as string, signal, ...(media.type === undefined ? {} : { type: media.type }) });
  await rows.put(key, { text, at: Date.now() });
  return text;
}
