import type { ObjectSchema, SectionProblem } from "@svc/sdk";

/** The section `channels.push` (001:L138), defaults filled in. */
export interface PushSettings {
  readonly enabled: boolean;
  readonly subject?: string;
  readonly keysFile: string;
  readonly relayTo?: string;
  readonly ttlSeconds: number;
  readonly keepRecent: number;
  readonly allowedHosts: readonly string[];
}

/** The push services of the major browsers and systems. */
export const PUSH_HOSTS: readonly string[] = [
  "fcm.googleapis.com",
  "android.googleapis.com",
  "push.services.mozilla.com",
  "push.apple.com",
  "notify.windows.com",
];

/** Where `keysFile` must lie: the data folder, whatever that is called. */
const DATA_FOLDER = ".svc/";

/** The section `channels.push` of svc.json. */
export const PUSH: ObjectSchema = {
  type: "object",
  description: "notifications on phones and desktops; send only",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    subject: {
      type: "string",
      pattern: "^(mailto:[^@\\s]+@[^@\\s]+|https://[^\\s/]\\S*)$",
      description: "whom a push service can ask about this daemon: mailto:<address> or an https address",
    },
    keysFile: {
      type: "string",
      pattern: "^\\.svc/[A-Za-z0-9_-][A-Za-z0-9._-]*$",
      default: ".svc/push-keys.json",
      description: "the key pair that phones know this daemon by; keep it, or every phone must be added anew",
    },
    relayTo: { type: "string", minLength: 1, description: "the mesh peer whose phones are meant; no phones and no keys are kept here then" },
    ttlSeconds: {
      type: "integer",
      minimum: 0,
      maximum: 2_419_200,
      default: 86_400,
      description: "how long a push service keeps a notice for a phone that is off",
    },
    keepRecent: { type: "integer", minimum: 0, maximum: 1_000, default: 50, description: "notices kept for the page on the phone" },
    allowedHosts: {
      type: "array",
      items: { type: "string", pattern: "^(https?://)?[A-Za-z0-9.-]+(:[0-9]{1,5})?$" },
      default: PUSH_HOSTS,
      description: "push services that are used, each with its subdomains; an origin such as https://push.example.org:8443 means that one alone",
    },
  },
};

/** The name of the key file in the data folder. */
export const keysName = ({ keysFile }: Pick<PushSettings, "keysFile">): string => keysFile.slice(DATA_FOLDER.length);

/** Checks that the schema cannot express (CFG-14). */
export function checkPush({ enabled, subject, relayTo }: PushSettings): readonly SectionProblem[] {
  if (!enabled || relayTo !== undefined) return [];
  if (subject === undefined)
    return [
      {
        path: "subject",
        severity: "error",
        message: "is missing: push services want an address, such as mailto:you@your.domain; only with relayTo it is not needed",
      },
    ];
  const host = subject.startsWith("mailto:") ? subject.slice(subject.indexOf("@") + 1) : new URL(subject).hostname;
  return /^localhost$|\.(invalid|localhost|test)$/i.test(host)
    ? [{ path: "subject", message: `is ${subject}, which nobody can reach: Apple's push service refuses such notices` }]
    : [];
}
