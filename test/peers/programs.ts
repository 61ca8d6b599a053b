import { existsSync } from "node:fs";
import { join } from "node:path";

const packages = join(import.meta.dirname, "node_modules");
const triple: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};
const platform = `${process.platform}-${process.arch}`;

/** Where the pinned programs are; each is the native one, or the script where there is no native one. */
export const PROGRAMS = {
  claude: join(packages, `@anthropic-ai/claude-code-${platform}`, "claude"),
  codex: join(packages, `@openai/codex-${platform}`, "vendor", triple[platform] ?? "none", "bin", "codex"),
  gemini: join(packages, "@google/gemini-cli/bundle/gemini.js"),
  claudeAcp: join(packages, "@zed-industries/claude-code-acp/dist/index.js"),
  codexAcp: join(packages, `@zed-industries/codex-acp-${platform}`, "bin", "codex-acp"),
} as const;

/** Why the tests of a program are skipped on this machine; undefined when it is installed. */
export function missing(name: keyof typeof PROGRAMS): string | undefined {
  return existsSync(PROGRAMS[name])
    ? undefined
    : `${name} is not installed for ${platform}: ${PROGRAMS[name]} is missing; run \`npm run test:peers\` where the registry can be reached`;
}
