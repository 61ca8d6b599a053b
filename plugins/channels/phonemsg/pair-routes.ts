import { type ChannelPairing, type HttpRoute, svcError } from "@svc/sdk";
import type { Client } from "./client.ts";
import type { Link } from "./connection.ts";
import { digitsOf } from "./people.ts";

/** State of the pairing, the answer of `GET /channels/phonemsg/pair`. */
export interface Pairing {
  readonly state: Link["state"];
  /** QR code for the phone, as text; it changes every 20 to 60 seconds. */
  readonly qr?: string;
  /** Code to type on the phone, where a number was given. */
  readonly code?: string;
  /** The number that is linked. */
  readonly number?: string;
  readonly reason?: string;
}

/** Converts the state of a connection to that of a pairing. */
export const pairingOf = (link: Link): Pairing => {
  if (link.state === "open") return { state: "open", number: `+${digitsOf(link.me.split(/[:@]/)[0] ?? "")}` };
  if (link.state === "pairing")
    return { state: "pairing", ...(link.qr === undefined ? {} : { qr: link.qr }), ...(link.code === undefined ? {} : { code: link.code }) };
  return { state: link.state, reason: link.reason };
};

/** Begins a pairing. Throws 409 if a phone is linked already and 400 for an invalid number. */
function beginWith({ connection }: Client, body: unknown): void {
  const { number } = (body ?? {}) as { number?: string };
  if (connection.link.state === "open" || connection.link.state === "connecting" || connection.link.state === "down")
    throw svcError("SVC_PHONEMSG_PAIRED", "A phone is linked already; take it off first: svc phonemsg unpair", { status: 409 });
  const digits = number === undefined ? undefined : digitsOf(number);
  if (digits !== undefined && (digits.length < 7 || digits.length > 15 || digits.startsWith("0")))
    throw svcError("SVC_PHONEMSG_NUMBER", `'${number}' is no phone number with its country code, such as +49 170 1234567`, { status: 400 });
  connection.pair(digits);
}

async function end({ connection }: Client): Promise<{ readonly state: "unpaired"; readonly kept: string }> {
  if (connection.link.state === "unpaired") throw svcError("SVC_PHONEMSG_UNPAIRED", "No phone is linked.", { status: 409 });
  return { state: "unpaired", kept: await connection.unpair() };
}

const BEGIN = {
  type: "object",
  additionalProperties: false,
  properties: { number: { type: "string", minLength: 5, maxLength: 32, description: "link by a code for this phone number, with its country code" } },
} as const;

/**
 * Routes for `svc phonemsg pair` and `unpair`. For people on this machine only: anyone with the code can link a device of the number, and what the
 * daemon has started must not.
 */
export function pairRoutes(client: () => Client): readonly HttpRoute[] {
  const at = { path: "/channels/phonemsg/pair", guard: "loopback", forPeople: true } as const;
  return [
    { ...at, method: "GET", handle: async () => pairingOf(client().connection.link) },
    {
      ...at,
      method: "POST",
      body: BEGIN,
      async handle({ body }) {
        beginWith(client(), body);
        return pairingOf(client().connection.link);
      },
    },
    { ...at, method: "DELETE", handle: async () => end(client()) },
  ];
}

/** The same for people in a browser, with the picture drawn: not for a token that may only read, and not for what the daemon has started. */
export function pagePairRoutes(client: () => Client): readonly HttpRoute[] {
  const at = { server: "dashboard", path: "/api/channels/phonemsg/pair", guard: "scope:dashboard:write", forPeople: true } as const;
  const now = () => drawn(client().connection.link);
  return [
    { ...at, method: "GET", handle: now },
    {
      ...at,
      method: "POST",
      body: BEGIN,
      async handle({ body }) {
        beginWith(client(), body);
        return now();
      },
    },
    { ...at, method: "DELETE", handle: async () => end(client()) },
  ];
}

async function drawn(link: Link): Promise<ChannelPairing> {
  const { qr, ...pairing } = pairingOf(link);
  const cause = "cause" in link && link.cause !== undefined ? { cause: link.cause } : {};
  if (qr === undefined) return { ...pairing, ...cause };
  const { rowsOf } = await import("./qr.js");
  return { ...pairing, ...cause, picture: await rowsOf(qr) };
}
