import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";

const text = (description: string, more: Schema = {}): Schema => ({ type: "string", description, ...more });
const word = (description: string, more: Schema = {}): Schema => text(description, { minLength: 1, ...more });
const flag = (description: string, more: Schema = {}): Schema => ({ type: "boolean", description, ...more });
const choice = (description: string, values: readonly string[]): Schema => text(description, { enum: values });
const variableName = (what: string): Schema => text(`upper-case name of the environment variable with the ${what}`, { pattern: "^[A-Z_][A-Z0-9_]*$" });

/** `agents.<id>.integrations[]` (001:L75). The six `*Env` keys name variables; they never hold the secret itself (CFG-16). */
const INTEGRATION: ObjectSchema = {
  type: "object",
  required: ["kind", "label"],
  properties: {
    kind: word("integration kind"),
    label: word("label, unique per agent and kind"),
    credentials: {
      type: "object",
      properties: {
        tokenEnv: variableName("token"),
        privateAppTokenEnv: variableName("private app token"),
        apiKeyEnv: variableName("API key"),
        refreshTokenEnv: variableName("refresh token"),
        clientIdEnv: variableName("client id"),
        clientSecretEnv: variableName("client secret"),
        auth: choice("sign-in kept by the system", ["keyring"]),
        sessionDir: word("session folder"),
      },
    },
    metadata: { type: "object", additionalProperties: { type: ["string", "number", "boolean"] }, description: "facts that are no secrets" },
    enabled: flag("switch", { default: true }),
  },
};

/** The keys, as a part of `agents.<id>`. */
export const AGENT: ObjectSchema = {
  type: "object",
  properties: {
    forgeAutoReply: flag("in place of the forge channel's autoReplyLegacy"),
    integrations: { type: "array", items: INTEGRATION, default: [], description: "external accounts" },
  },
};

/** Labels that stand twice for one kind; the same label under two kinds is fine (CFG-16). */
export function repeatedLabels({ integrations }: Readonly<Record<string, unknown>>): readonly SectionProblem[] {
  if (!Array.isArray(integrations)) return [];
  const first = new Map<string, number>();
  return integrations.flatMap((entry, index): SectionProblem[] => {
    const { kind, label } = (entry ?? {}) as { readonly kind?: unknown; readonly label?: unknown };
    if (typeof kind !== "string" || typeof label !== "string") return [];
    const key = JSON.stringify([kind, label]);
    const before = first.get(key);
    if (before === undefined) {
      first.set(key, index);
      return [];
    }
    const message = `is the label '${label}' of a second integration of kind '${kind}' (the first is integrations[${before}]); labels are unique per kind`;
    return [{ path: `integrations[${index}].label`, message, severity: "error" }];
  });
}
