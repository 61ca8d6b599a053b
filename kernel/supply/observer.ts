/*
 * Program of the process that observes a plugin before it is trusted: its argument names the plugin; it writes one line of JSON to descriptor 3 and
 * ends. Started by observe-apart.ts.
 */
import { Socket } from "node:net";
import { reasonOf } from "@svc/sdk";
import { placeOf } from "../sources/failure-place.ts";
import type { Source } from "../sources/source.ts";
import { observe } from "./observe.ts";
import type { ObserverReport } from "./observe-apart.ts";

const wire = new Socket({ fd: 3, readable: false, writable: true });
const send = (report: ObserverReport): void => void wire.end(JSON.stringify(report), () => process.exit(0));

const failed = (error: unknown): void => send({ ok: false, reason: reasonOf(error) });
const source = JSON.parse(process.argv[2] as string) as Source;
for (const event of ["uncaughtException", "unhandledRejection"])
  process.on(event, (error: unknown) => failed(`an uncaught error: ${reasonOf(error)}${placed(error)}`));

function placed(error: unknown): string {
  const place = placeOf(error, source);
  return place === undefined ? "" : ` (${place})`;
}

observe(source).then((value) => send({ ok: true, value }), failed);
