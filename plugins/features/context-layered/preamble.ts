import { type Agent, type Confined, codeOf } from "@svc/sdk";
import { cut } from "./words.ts";

/** Read from the workspace in this order, where they exist: who the agent is, how it works, and whom it works for. */
const BOOTSTRAP = ["IDENTITY.md", "AGENTS.md", "USER.md"] as const;
const MAX_BYTES = 1_048_576;
/** Of each file, in characters: instructions, not a library. */
const MAX_CHARACTERS = 16_000;
/** Lifetime of the cache: an edit takes effect within a second. */
const FRESH_MS = 1_000;

/**
 * Content of the vendor's cached system prompt: the agent's whole prompt and its bootstrap files. It contains nothing of the turn, so that it stays
 * the same, byte for byte, until a file is edited (CTX-03).
 */
export interface Preamble {
  /** At once when the files were looked at within the last second. */
  of(agent: Agent): string | Promise<string>;
}

/** Preambles read from workspaces; `unreadable` hears of files that could not be. */
export function createPreamble(under: (workspace: string) => Confined, unreadable: (file: string, error: unknown) => void): Preamble {
  const known = new Map<string, { readonly readAt: number; text: string | Promise<string> }>();

  async function bootstrap(workspace: string): Promise<string> {
    const files = under(workspace);
    const parts = await Promise.all(BOOTSTRAP.map((file) => read(files, file)));
    return parts.filter((part) => part !== "").join("\n\n");
  }

  async function read(files: Confined, file: string): Promise<string> {
    try {
      const text = new TextDecoder().decode(await files.read(file, MAX_BYTES)).trim();
      return text === "" ? "" : `<!-- ${file} -->\n${cut(text, MAX_CHARACTERS)}`;
    } catch (error) {
      if (codeOf(error) !== "SVC_FILE_MISSING") unreadable(file, error);
      return "";
    }
  }

  return {
    of({ workspace, systemPrompt = "" }) {
      const now = Date.now();
      const whole = (files: string) => [systemPrompt.trim(), files].filter((part) => part !== "").join("\n\n");
      let read = known.get(workspace);
      if (read === undefined || now - read.readAt >= FRESH_MS) {
        const reading: { readonly readAt: number; text: string | Promise<string> } = { readAt: now, text: "" };
        reading.text = bootstrap(workspace).then((text) => (reading.text = text));
        known.set(workspace, reading);
        read = reading;
      }
      return typeof read.text === "string" ? whole(read.text) : read.text.then(whole);
    },
  };
}
