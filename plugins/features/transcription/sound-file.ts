import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Recording, Spawn } from "@svc/sdk";
import { fail } from "./settings.ts";
import { RATE, wavMs, wavOf } from "./wav.ts";

/** As much as a turn may bring. */
const LARGEST = 25 * 1_048_576;
const CONVERT_MS = 60_000;

/** A recording on its way to a recogniser. */
export interface SoundFile {
  readonly data: Uint8Array;
  /** With the ending that its bytes ask for. */
  readonly name: string;
  readonly type: string;
  /** The file is 16 kHz mono. */
  readonly isPlain: boolean;
}

/** Converter of recordings in any common format: without it only WAV files of 16 kHz mono and samples are usable. */
const CONVERTER = "ffmpeg";

/** Formats that servers take as they are, by their first bytes. */
const FORMATS: readonly (readonly [ending: string, type: string, at: number, bytes: string])[] = [
  ["ogg", "audio/ogg", 0, "OggS"],
  ["mp3", "audio/mpeg", 0, "ID3"],
  ["flac", "audio/flac", 0, "fLaC"],
  ["m4a", "audio/mp4", 4, "ftyp"],
  ["webm", "audio/webm", 0, "\x1aE\xdf\xa3"],
  ["wav", "audio/wav", 0, "RIFF"],
];

/** The recording as 16 kHz mono where that can be had, else as it is. Throws `SVC_TRANSCRIPTION_AUDIO`. */
export async function soundFileOf(audio: Recording["audio"], maxMinutes: number, spawn: Spawn, signal: AbortSignal | undefined): Promise<SoundFile> {
  if (audio instanceof Int16Array) return plain(wavOf(audio), maxMinutes);
  if (typeof audio === "string" && ((await stat(audio).catch(() => undefined))?.size ?? 0) > LARGEST) throw tooLarge();
  const data = typeof audio === "string" ? await readFile(audio).catch(() => undefined) : audio;
  if (data === undefined) throw fail("SVC_TRANSCRIPTION_AUDIO", { why: "its file is not there" });
  if (data.byteLength > LARGEST) throw tooLarge();
  if (wavMs(data) !== undefined) return plain(data, maxMinutes);
  const format = FORMATS.find(([, , at, bytes]) => Buffer.from(data.subarray(at, at + bytes.length)).toString("latin1") === bytes);
  const converted = await convert(data, maxMinutes, spawn, signal);
  if (converted !== undefined) return plain(converted, maxMinutes);
  if (format === undefined) throw fail("SVC_TRANSCRIPTION_AUDIO", { why: `its format is not known, and ${CONVERTER}, which knows most, is not installed` });
  const [ending, type] = format;
  return { data, name: `speech.${ending}`, type, isPlain: false };
}

const tooLarge = () => fail("SVC_TRANSCRIPTION_AUDIO", { why: `it is larger than ${LARGEST / 1_048_576} MB` });

function plain(data: Uint8Array, maxMinutes: number): SoundFile {
  if ((wavMs(data) ?? 0) > maxMinutes * 60_000) {
    throw fail("SVC_TRANSCRIPTION_AUDIO", { why: `it is longer than ${maxMinutes} minutes (maxMinutes of transcription)` });
  }
  return { data, name: "speech.wav", type: "audio/wav", isPlain: true };
}

/** Undefined where the program is not installed. The bytes come from strangers: the program may open that one file and no address. */
async function convert(data: Uint8Array, maxMinutes: number, spawn: Spawn, signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "svc-speech-"));
  try {
    await writeFile(join(folder, "in"), data, { mode: 0o600 });
    const limits = [
      "-t",
      String(maxMinutes * 60 + 1),
      "-vn",
      "-sn",
      "-dn",
      "-ac",
      "1",
      "-ar",
      String(RATE),
      "-c:a",
      "pcm_s16le",
      "-bitexact",
      "-map_metadata",
      "-1",
    ];
    const args = ["-nostdin", "-v", "error", "-protocol_whitelist", "file", "-i", "in", ...limits, "-f", "wav", "out.wav"];
    const child = spawn(CONVERTER, args, { cwd: folder, stdin: "ignore", timeoutMs: CONVERT_MS, ...(signal === undefined ? {} : { signal }) });
    try {
      await child.started;
    } catch {
      return undefined;
    }
    const { code, stderr, reason } = await child.ended;
    signal?.throwIfAborted();
    if (code !== 0) throw fail("SVC_TRANSCRIPTION_AUDIO", { why: `it cannot be played (${reason ?? stderr.trim().split("\n").at(-1)?.slice(0, 120) ?? ""})` });
    return await readFile(join(folder, "out.wav"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
