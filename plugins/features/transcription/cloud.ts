import { randomUUID } from "node:crypto";
import { codeOf, type GuardedFetch, reasonOf, sleep } from "@svc/sdk";
import { fail, type Settings } from "./settings.ts";
import type { SoundFile } from "./sound-file.ts";

const TRIES = 4;
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const ANSWER_MS = 120_000;
const LARGEST_ANSWER = 1_048_576;

/** Where recordings go. */
export function addressOf(url: string): string {
  const trimmed = url.replace(/\/+$/, "");
  if (trimmed.endsWith("/audio/transcriptions")) return trimmed;
  return `${trimmed.endsWith("/v1") ? trimmed : `${trimmed}/v1`}/audio/transcriptions`;
}

/** Asks the server. What cannot now is asked again; what it refuses is not. */
export async function askServer(
  { url, apiKey, model = "whisper-1" }: NonNullable<Settings["server"]>,
  sound: SoundFile,
  language: string,
  fetch: GuardedFetch,
  signal: AbortSignal | undefined,
): Promise<{ readonly text: string; readonly language?: string }> {
  const address = addressOf(url);
  const who = `the server ${new URL(address).host} (server of transcription)`;
  const boundary = `svc-${randomUUID()}`;
  const body = formOf(boundary, sound, { model, response_format: "json", ...(language === "auto" ? {} : { language: language.split("-")[0] ?? language }) });
  const headers = {
    "content-type": `multipart/form-data; boundary=${boundary}`,
    accept: "application/json",
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  let trouble = "";
  for (let tries = 0; tries < TRIES; tries += 1) {
    let waitMs = PAUSE_MS * 2 ** tries;
    try {
      const answer = await fetch(address, {
        ...{ method: "POST", headers, body, timeoutMs: ANSWER_MS, maxBytes: LARGEST_ANSWER, maxRedirects: 0, trustedOrigins: [new URL(address).origin] },
        ...(signal === undefined ? {} : { signal }),
      });
      if (answer.status === 200) return wordsOf(answer.text(), who);
      trouble = `it answered ${answer.status}${saidIn(answer.text())}`;
      if (answer.status !== 429 && answer.status !== 408 && answer.status < 500) throw fail("SVC_TRANSCRIPTION_FAILED", { who, why: trouble });
      waitMs = Math.max(waitMs, Number(answer.headers["retry-after"]) * 1000 || 0);
    } catch (error) {
      signal?.throwIfAborted();
      if (codeOf(error) === "SVC_TRANSCRIPTION_FAILED") throw error;
      trouble = reasonOf(error);
    }
    if (tries < TRIES - 1) await sleep(Math.min(waitMs, LONGEST_PAUSE_MS), signal);
  }
  throw fail("SVC_TRANSCRIPTION_FAILED", { who, why: `${trouble}, ${TRIES} times` });
}

function wordsOf(text: string, who: string): { readonly text: string; readonly language?: string } {
  let answer: { readonly text?: unknown; readonly language?: unknown } | undefined;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = undefined;
  }
  if (typeof answer?.text !== "string") throw fail("SVC_TRANSCRIPTION_FAILED", { who, why: "its answer has no text" });
  return { text: answer.text.trim(), ...(typeof answer.language === "string" ? { language: answer.language } : {}) };
}

/** Returns the server's error message, on one line. */
function saidIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: string | { message?: string } };
    const said = typeof error === "string" ? error : error?.message;
    return typeof said === "string" ? `: ${said.replace(/\s+/g, " ").slice(0, 160)}` : "";
  } catch {
    return "";
  }
}

function formOf(boundary: string, sound: SoundFile, fields: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(fields).map(([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${sound.name}"\r\nContent-Type: ${sound.type}\r\n\r\n`;
  return Buffer.concat([Buffer.from(parts.join("") + head), sound.data, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}
