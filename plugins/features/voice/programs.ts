import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** A program that speaks: the text comes on its standard input, never as an argument. */
export interface SpeakingProgram {
  readonly name: string;
  /** `voice` unset: its own default. */
  arguments(voice: string | undefined): readonly string[];
  /** A voice by language and gender, where none is named. */
  voiceFor(language: string, gender: string | undefined): string | undefined;
}

const VARIANTS: Readonly<Record<string, string>> = { female: "+f3", male: "+m3" };

const espeak = (name: string): SpeakingProgram => ({
  name,
  arguments: (voice) => ["--stdin", ...(voice === undefined ? [] : ["-v", voice])],
  voiceFor: (language, gender) => `${language.toLowerCase()}${VARIANTS[gender ?? ""] ?? ""}`,
});

/** Known programs; the first one that is installed is used. */
export const SPEAKING: readonly SpeakingProgram[] = [
  { name: "say", arguments: (voice) => ["-f", "-", ...(voice === undefined ? [] : ["-v", voice])], voiceFor: () => undefined },
  espeak("espeak-ng"),
  espeak("espeak"),
  {
    name: "spd-say",
    arguments: (voice) => ["--wait", "--pipe-mode", ...(voice === undefined ? [] : ["--synthesis-voice", voice])],
    voiceFor: () => undefined,
  },
];

/** Programs that play a WAV file, which is their last argument. */
export const PLAYING: readonly { readonly name: string; readonly before: readonly string[] }[] = [
  { name: "paplay", before: [] },
  { name: "aplay", before: ["-q"] },
  { name: "afplay", before: [] },
  { name: "ffplay", before: ["-nodisp", "-autoexit", "-loglevel", "error"] },
];

/** Is it on the path of the daemon? */
export function isInstalled(name: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    if (folder === "") return false;
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Undefined where no program speaks. */
export const speakingProgram = (): SpeakingProgram | undefined => SPEAKING.find(({ name }) => isInstalled(name));

/** For an operator whose machine cannot speak. */
export const NO_PROGRAM = `no program on this machine speaks: install espeak-ng, or one of ${SPEAKING.map(({ name }) => name).join(", ")}`;
