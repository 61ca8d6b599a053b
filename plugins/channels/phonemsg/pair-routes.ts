import { type HttpRoute, svcError } from "@svc/sdk";
import type { Client } from "./client.ts";
import type { Link } from "./connection.ts";
import { digitsOf } from "./people.ts";

/** How the pairing stands, as `GET /channels/phonemsg/pair` tells it. */
export interface Pairing {
  readonly state: Link["state"];
  /** What the phone scans, as text; it changes every 20 to 60 seconds. */
  readonly qr?: string;
  /** What is typed on the phone, where a number was given. */
  readonly code?: string;
  /** The number that is linked. */
  readonly number?: string;
  readonly reason?: string;
}

/** How a connection stands as a pairing. */
export const pairingOf = (link: Link): Pairing => {
  if (link.state === "open") return { state: "open", number: `+${digitsOf(link.me.split(/[:@]/)[0] ?? "")}` };
  if (link.state === "pairing")
    return { state: "pairing", ...(link.qr === undefined ? {} : { qr: link.qr }), ...(link.code === undefined ? {} : { code: link.code }) };
  return { state: link.state, reason: link.reason };
};

/** What `svc phonemsg pair` and `unpair` ask. Only programs on this machine may: who reads the code can link a device of the number. */
export function pairRoutes(client: () => Client): readonly HttpRoute[] {
  return [
    { method: "GET", path: "/channels/phonemsg/pair", guard: "loopback", handle: async () => pairingOf(client().connection.link) },
    {
      method: "POST",
      path: "/channels/phonemsg/pair",
      guard: "loopback",
      body: {
        type: "object",
        additionalProperties: false,
        properties: { number: { type: "string", minLength: 5, maxLength: 32, description: "link by a code for this phone number, with its country code" } },
      },
      async handle({ body }) {
        const { connection } = client();
        const { number } = (body ?? {}) as { number?: string };
        if (connection.link.state === "open" || connection.link.state === "connecting" || connection.link.state === "down")
          throw svcError("SVC_PHONEMSG_PAIRED", "A phone is linked already; take it off first: svc phonemsg unpair", { status: 409 });
        const digits = number === undefined ? undefined : digitsOf(number);
        if (digits !== undefined && (digits.length < 7 || digits.length > 15 || digits.startsWith("0")))
          throw svcError("SVC_PHONEMSG_NUMBER", `'${number}' is no phone number with its country code, such as +49 170 1234567`, { status: 400 });
        connection.pair(digits);
        return pairingOf(connection.link);
      },
    },
    {
      method: "DELETE",
      path: "/channels/phonemsg/pair",
      guard: "loopback",
      async handle() {
        const { connection } = client();
        if (connection.link.state === "unpaired") throw svcError("SVC_PHONEMSG_UNPAIRED", "No phone is linked.", { status: 409 });
        return { state: "unpaired", kept: await connection.unpair() };
      },
    },
  ];
}
