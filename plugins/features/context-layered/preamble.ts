import type { Agent, Confined } from "@svc/sdk";
import { cut } from "./words.ts";

/** Read from the workspace in this order, where they exist: who the agent is, how it works, and whom it works for. */
const BOOTSTRAP = ["IDENTITY.md", "AGENTS.md", "USER.md"] as const;
const MAX_BYTES = 1_048_576;
/** Of each file, in characters: instructions, not a library. */
const MAX_CHARACTERS = 16_000;

/**
 * What goes into the vendor's cached system prompt: the agent's whole prompt and its bootstrap files. Nothing of the turn is in it, so
 * that it is the same, byte for byte, until someone edits a file (CTX-03).
 */
export async function preamble({ systemPrompt = "" }: Agent, workspace: Confined, unreadable: (file: string, error: unknown) => void): Promise<string> {
  // Read anew: three small files cost less than asking a folder whether they have changed.
  const parts = await Promise.all(BOOTSTRAP.map((file) => read(file)));
  return [systemPrompt.trim(), ...parts].filter((part) => part !== "").join("\n\n");

  async function read(file: string): Promise<string> {
    try {
      const text = new TextDecoder().decode(await workspace.read(file, MAX_BYTES)).trim();
      return text === "" ? "" : `<!-- ${file} -->\n${cut(text, MAX_CHARACTERS)}`;
    } catch (error) {
      if ((error as { code?: string }).code !== "SVC_FILE_MISSING") unreadable(file, error);
      return "";
    }
  }
}
