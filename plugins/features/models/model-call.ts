import { setTimeout as sleep } from "node:timers/promises";
import { type ModelCall, type ModelEvent, type TierFailure, traitsOf } from "@svc/sdk";
import { ANTHROPIC } from "./anthropic.ts";
import type { Reader, WireFormat } from "./model-api.ts";
import type { Answer, Connections } from "./model-connection.ts";
import { fieldsOf, judgeAnswer, judgeError, VendorError } from "./model-failure.ts";
import { OPENAI } from "./openai.ts";
import type { ModelAddress, ModelApi } from "./provider-address.ts";

const WIRE_FORMATS: Readonly<Record<ModelApi, WireFormat>> = { anthropic: ANTHROPIC, openai: OPENAI };
const TRIES = 3;
/** Before the second try, and once more of it before the third, unless the vendor asks for another time. */
const RETRY_MS = 1_000;
/** When a vendor asks for a longer wait, the caller gets the failure at once. */
const LONGEST_RETRY_MS = 60_000;

/**
 * One call, top to bottom:
 *
 *   request -> events -> usage, end
 *      |          '-> broken off: usage, error; what was said stands
 *      '-> failed before the first word: waiting, again, where that may help, else error
 */
export async function* callModel(connections: Connections, address: ModelAddress, call: ModelCall): AsyncGenerator<ModelEvent> {
  const { signal } = call;
  const format = WIRE_FORMATS[address.api];
  const url = new URL(address.url + format.path);
  const headers = { "content-type": "application/json", accept: "text/event-stream", "accept-encoding": "identity", ...format.headers(address) };
  const body = JSON.stringify(format.body(address, call));
  for (let tried = 1; signal?.aborted !== true; tried += 1) {
    const reader = format.reader(address);
    let said = false;
    let answer: Answer | undefined;
    let failure: TierFailure | undefined;
    try {
      answer = await connections.post(url, headers, body, signal);
      if (answer.status !== 200) {
        failure = judgeAnswer(address, answer.status, answer.headers, await answer.text(), Date.now());
      } else {
        const out: ModelEvent[] = [];
        while (!reader.over) {
          const events = await answer.next();
          if (events === undefined) break;
          let broken: unknown;
          for (const data of events) {
            broken = taken(reader, data, out);
            if (broken !== undefined) break;
          }
          for (const event of out.splice(0)) {
            said = true;
            yield event;
          }
          if (broken !== undefined) throw broken;
        }
        if (reader.stopped === undefined) throw new Error("the answer ended in the middle");
      }
      answer.release();
      answer = undefined;
    } catch (error) {
      // The vendor had finished: an error after its last event costs nothing.
      if (reader.stopped === undefined || error instanceof VendorError) failure = judgeError(address, error, said);
    } finally {
      answer?.close();
    }
    if (reader.usage !== undefined) yield { type: "usage", usage: reader.usage, model: reader.model ?? address.model };
    if (signal?.aborted) return;
    if (failure === undefined) {
      yield { type: "end", stopped: reader.stopped ?? "", reply: reader.reply() };
      return;
    }
    const wait = failure.retryAfterMs ?? RETRY_MS * tried;
    if (said || tried === TRIES || !traitsOf(failure).retryable || wait > LONGEST_RETRY_MS) {
      yield failure;
      return;
    }
    if (wait > 0) yield { type: "waiting", reason: failure.message, retryAfterMs: wait };
    await sleep(wait, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}

/** The error in an event, if there is one; events that came before it are passed on first. */
function taken(reader: Reader, data: string, out: ModelEvent[]): unknown {
  try {
    reader.take(data === "[DONE]" ? { done: true } : fieldsOf(JSON.parse(data)), out);
    return undefined;
  } catch (error) {
    return error instanceof SyntaxError ? new VendorError("protocol", "it sent invalid JSON") : error;
  }
}
