/** What a conversation looks like to the script, whatever API it came through. */
export interface Conversation {
  readonly model: string;
  /** The last words of the person, without what the programs wrap around them. */
  readonly prompt: string;
  /** Results of the tools called since those words, in order. */
  readonly results: readonly string[];
  /** Names of the tools on offer. */
  readonly tools: readonly string[];
}

export interface ScriptedCall {
  readonly name: string;
  readonly input: Record<string, unknown>;
}

/** What the scripted model does next. */
export type Move =
  | { readonly kind: "say"; readonly thinking?: string; readonly pieces: readonly string[]; readonly pauseMs: number }
  | { readonly kind: "call"; readonly thinking?: string; readonly calls: readonly ScriptedCall[] }
  | { readonly kind: "hang"; readonly headers: boolean }
  | { readonly kind: "drop"; readonly pieces: readonly string[] }
  | { readonly kind: "fail"; readonly status: number; readonly overflow?: true };

/** Blocks that the programs put around or before the person's words. */
const WRAPPINGS =
  /<(system-reminder|environment_context|hook_context|session_context|permissions instructions|user_instructions|skills_instructions|apps_instructions|plugins_instructions|collaboration_mode|command-message|recommended_plugins)\b[^>]*>[\s\S]*?<\/\1>/g;

/** The words without the programs' own blocks. */
export function unwrap(text: string): string {
  return text.replace(WRAPPINGS, "").trim();
}

/**
 * Reads the directives in a prompt: `CALL:<tool>:<json>` (several: one after the other; with `TOGETHER` all in one answer),
 * `SLOW:<ms>` before each piece, `THINK`, `HANG`, `MUTE` (a hang after the headers), `DROP[:<times>]`, `FAIL:<status>[:<times>]`,
 * `OVERFLOW[:<times>]` (the conversation is too long for the model). Without any it echoes.
 * `failed` counts the failures already given to this prompt.
 */
export function nextMove({ prompt, results }: Conversation, failed: number): Move {
  const fail = /\bFAIL:(\d{3})(?::(\d+))?/.exec(prompt);
  if (fail && failed < Number(fail[2] ?? Number.POSITIVE_INFINITY)) return { kind: "fail", status: Number(fail[1]) };
  const overflow = /\bOVERFLOW(?::(\d+))?/.exec(prompt);
  if (overflow && failed < Number(overflow[1] ?? Number.POSITIVE_INFINITY)) return { kind: "fail", status: 400, overflow: true };
  const calls = readCalls(prompt);
  const together = /\bTOGETHER\b/.test(prompt);
  const thinking = /\bTHINK\b/.test(prompt) ? { thinking: "Weighing the words." } : {};
  if (together && calls.length > 0 && results.length === 0) return { kind: "call", calls, ...thinking };
  const call = together ? undefined : calls[results.length];
  if (call) return { kind: "call", calls: [call], ...thinking };
  if (/\b(HANG|MUTE)\b/.test(prompt)) return { kind: "hang", headers: /\bMUTE\b/.test(prompt) };
  const pieces = split(calls.length > 0 ? `RESULT: ${results.at(-1) ?? ""}` : `ECHO: ${prompt}`);
  const drop = /\bDROP(?::(\d+))?\b/.exec(prompt);
  if (drop && failed < Number(drop[1] ?? Number.POSITIVE_INFINITY)) return { kind: "drop", pieces };
  return { kind: "say", pieces, pauseMs: Number(/\bSLOW:(\d+)/.exec(prompt)?.[1] ?? 0), ...thinking };
}

/** In pieces that join to the same text: words with the blank after them, at most 12. */
function split(text: string): string[] {
  const words = text.match(/\S+\s*|\s+/g) ?? [];
  const size = Math.max(1, Math.ceil(words.length / 12));
  const pieces: string[] = [];
  for (let at = 0; at < words.length; at += size) pieces.push(words.slice(at, at + size).join(""));
  return pieces;
}

function readCalls(prompt: string): ScriptedCall[] {
  const calls: ScriptedCall[] = [];
  const opening = /\bCALL:([\w.-]+):(?=\{)/g;
  for (let match = opening.exec(prompt); match; match = opening.exec(prompt)) {
    const json = balanced(prompt, opening.lastIndex);
    calls.push({ name: match[1] as string, input: JSON.parse(json) as Record<string, unknown> });
    opening.lastIndex += json.length;
  }
  return calls;
}

/** The JSON object that starts at `from`. */
function balanced(text: string, from: number): string {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const sign = text[at];
    if (quoted) {
      if (sign === "\\") at++;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === "{") depth++;
    else if (sign === "}" && --depth === 0) return text.slice(from, at + 1);
  }
  throw new Error(`The script has an unfinished CALL: ${text.slice(from, from + 80)}`);
}
