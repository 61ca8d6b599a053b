import { svcError } from "@svc/sdk";

/** What a token may hold (000:L237-246), for people. */
export const SCOPES: Readonly<Record<string, string>> = {
  "dashboard:read": "read the dashboard",
  "dashboard:write": "read and change it",
  "agent:<id>": "send messages to this one public agent",
  "agent:*": "send messages to every public agent",
  "mesh:peer": "reserved: it opens nothing yet",
};

const SCOPE = /^(?:dashboard:(?:read|write)|agent:(?:\*|[a-z0-9][a-z0-9_-]*)|mesh:peer)$/;

/** The scopes of `--scope`, given several times or with commas, each once. Throws `SVC_TOKEN_SCOPE` with the valid ones. */
export function parseScopes(given: readonly string[]): readonly string[] {
  const scopes = [...new Set(given.flatMap((list) => list.split(",")).map((scope) => scope.trim()))].filter((scope) => scope !== "");
  const valid = Object.entries(SCOPES)
    .map(([scope, meaning]) => `  ${scope.padEnd(16)} ${meaning}`)
    .join("\n");
  if (scopes.length === 0) throw svcError("SVC_TOKEN_SCOPE", `A token needs at least one --scope:\n${valid}`, { status: 400, field: "scope" });
  const unknown = scopes.find((scope) => !SCOPE.test(scope));
  if (unknown !== undefined) throw svcError("SVC_TOKEN_SCOPE", `There is no scope '${unknown}'. There are:\n${valid}`, { status: 400, field: "scope" });
  return scopes;
}
