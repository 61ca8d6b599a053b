import { type Caller, createCaller } from "../../plugins/channels/webrtc/caller.harness.ts";

/** A call that somebody without a browser has with an agent of a daemon, by the addresses that the page uses. */
export interface LiveCaller {
  readonly id: string;
  readonly person: Caller;
  /** Ends it from the page's side. */
  end(): Promise<void>;
}

async function post(base: string, path: string, body: unknown, headers: Record<string, string> = {}): Promise<{ status: number; body: unknown }> {
  const sent = { method: "POST", headers: { ...headers, accept: "application/json", "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(base + path, sent);
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}

/** Places a call, joins it with the code of its link, and waits until the sound of it is connected. */
export async function callAgent(base: string, to: string, by = "Ann"): Promise<LiveCaller> {
  const { call, url } = (await post(base, "/calls", { to, by })).body as unknown as { call: { id: string }; url: string };
  const path = `/calls/${call.id}`;
  const { bearer } = (await post(base, `${path}/join`, { code: url.split("#")[1] })).body as unknown as { bearer: string };
  const headers = { authorization: `Bearer ${bearer}` };
  const person = await createCaller(call.id);
  const end = async () => {
    await post(base, `${path}/end`, {}, headers);
    await person.hangUp();
  };
  try {
    await person.ring({
      async open({ offer }) {
        const { status, body } = await post(base, `${path}/answer`, { offer }, headers);
        const { answer } = body as unknown as { answer?: string };
        if (answer === undefined) throw new Error(`the offer was answered with ${status}: ${JSON.stringify(body)}`);
        return {
          answer,
          async candidate(candidate) {
            // Late ones, of a call that is over, are refused: as a page does, nobody minds.
            await post(base, `${path}/candidate`, { candidate }, headers).catch(() => {});
          },
          async restart(offer) {
            const { body } = await post(base, `${path}/restart`, { offer }, headers);
            return (body as { answer: string }).answer;
          },
          close: end,
          stats: () => ({ rtpIn: 0, rtpOut: 0, decodedMs: 0, waitingMs: 0 }),
        };
      },
    });
    await person.connected();
  } catch (error) {
    await person.hangUp();
    throw error;
  }
  return { id: call.id, person, end };
}
