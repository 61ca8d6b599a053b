import { type CallEnd, type CallRequest, type CallState, type IceCandidate, reasonOf, svcError } from "@svc/sdk";
import type { CallDeps } from "./call-media.ts";
import { checkOffer } from "./offer.ts";
import type { Heard, Told } from "./protocol.ts";
import { Scribe } from "./scribe.ts";
import { iceServersOf, transcriptionOf } from "./settings.ts";
import { RATE } from "./speech-gate.ts";

/** From an offer to its answer, slow relays included. */
const ANSWER_MS = 20_000;
const LINGER_MS = 5_000;
/** For a thread that no longer answers. */
const GONE_MS = 5_000;

/** Parts of one call. */
export interface OpenCallParts {
  readonly number: number;
  readonly request: CallRequest;
  readonly deps: CallDeps;
  tell(told: Told): void;
  /** Called once, when nothing of it is left. */
  left(): void;
}

/** One call, on the daemon's side of the thread that carries it. */
export class OpenCall {
  readonly #parts: OpenCallParts;
  readonly #scribe: Scribe;
  #counted = { rtpIn: 0, rtpOut: 0, decodedMs: 0 };
  #answered: { readonly resolve: (sdp: string) => void; readonly reject: (error: Error) => void } | undefined;
  #last: { readonly state: CallState; readonly reason?: string } = { state: "closed", reason: "ended here" };
  /** The thread has nothing of it any more. */
  readonly #gone: Promise<void>;
  #isGone: () => void = () => {};
  #finishing: Promise<void> | undefined;
  #lingerMs = LINGER_MS;
  #isOver = false;
  #restarts = 0;
  #restarting: { readonly attempt: number; readonly resolve: (sdp: string) => void; readonly reject: (error: Error) => void } | undefined;

  constructor(parts: OpenCallParts) {
    this.#parts = parts;
    this.#gone = new Promise((resolve) => {
      this.#isGone = resolve;
    });
    const { deps, request } = parts;
    this.#scribe = new Scribe({
      transcription: () => deps.services.get("transcription"),
      settings: () => transcriptionOf(deps.settings()),
      log: deps.log,
      say: (said) => this.#call(() => request.onText?.(said)),
    });
  }

  /** Hands the offer over. Rejects with nothing left behind. */
  async start(): Promise<CallEnd> {
    const { number, request, deps, tell } = this.#parts;
    const { hostAddresses = [], portRange, relayOnly = false, ...rest } = deps.settings();
    const options = {
      hostAddresses,
      relayOnly,
      iceServers: iceServersOf(rest),
      ...(portRange === undefined ? {} : { portRange: [portRange.from, portRange.to] as const }),
    };
    let timer: NodeJS.Timeout | undefined;
    try {
      const answer = await new Promise<string>((resolve, reject) => {
        this.#answered = { resolve, reject };
        timer = setTimeout(() => reject(svcError("SVC_CALL_MEDIA", `no answer was made within ${ANSWER_MS / 1000} s`, { status: 503 })), ANSWER_MS);
        tell({ op: "open", call: number, offer: request.offer, options });
      });
      return {
        answer,
        candidate: async (candidate) => this.#candidate(candidate),
        restart: (offer) => this.#restart(offer),
        close: (reason, lingerMs) => this.close(reason, lingerMs),
        stats: () => ({ ...this.#counted, waitingMs: this.#scribe.waitingMs }),
      };
    } catch (error) {
      this.#isOver = true;
      await this.close("refused", 0);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** See `CallEnd.close`. */
  close(reason: string, lingerMs = LINGER_MS): Promise<void> {
    if (this.#finishing === undefined) {
      this.#last = { state: "closed", reason };
      this.#lingerMs = lingerMs;
      this.#parts.tell({ op: "close", call: this.#parts.number });
    }
    return this.#finish();
  }

  /** Handles a message of the thread about it. */
  heard(event: Heard): void {
    const { request, deps } = this.#parts;
    switch (event.op) {
      case "answer":
        this.#answered?.resolve(event.sdp);
        break;
      case "refused":
        this.#answered?.reject(
          event.isOurs
            ? svcError("SVC_CALL_MEDIA", `no call can be taken: ${event.reason}; see turnServers of channels.webrtc`, { status: 503 })
            : svcError("SVC_CALL_OFFER", `the offer was refused: ${event.reason}`, { status: 400 }),
        );
        this.#isGone();
        break;
      case "restarted":
        // Of one that was given up.
        if (event.attempt !== this.#restarting?.attempt) break;
        if (event.sdp !== undefined) this.#restarting.resolve(event.sdp);
        else this.#restarting.reject(svcError("SVC_CALL_OFFER", `the offer was refused: ${event.reason}`, { status: 400 }));
        break;
      case "candidate":
        this.#call(() => request.onCandidate?.(event.candidate));
        break;
      case "state":
        this.#stateIs(event.state, event.reason);
        break;
      case "speech": {
        const durationMs = Math.round(event.samples.length / (RATE / 1000));
        this.#call(() => request.onSpeech?.({ atMs: event.atMs, durationMs, samples: event.samples }));
        if (request.onText !== undefined) this.#scribe.hear(event.atMs, durationMs, event.samples);
        break;
      }
      case "trouble":
        deps.log.warn({ call: request.id, reason: event.reason }, "a relay is of no use to this call; see turnServers of channels.webrtc");
        break;
      case "stats":
        this.#counted = { rtpIn: event.rtpIn, rtpOut: event.rtpOut, decodedMs: event.decodedMs };
        break;
      case "ended":
        this.#isGone();
        void this.#finish();
    }
  }

  #stateIs(state: CallState, reason: string | undefined): void {
    if (state === "connecting" || state === "connected") {
      this.#call(() => this.#parts.request.onState?.(state));
      return;
    }
    if (this.#finishing === undefined) this.#last = { state, ...(reason === undefined ? {} : { reason }) };
    this.#answered?.reject(svcError("SVC_CALL_MEDIA", reason ?? "the call was not taken", { status: 503 }));
  }

  #candidate(candidate: IceCandidate): void {
    if (this.#finishing !== undefined || typeof candidate?.candidate !== "string") return;
    const { sdpMid = null, sdpMLineIndex = null } = candidate;
    this.#parts.tell({ op: "candidate", call: this.#parts.number, candidate: { candidate: candidate.candidate.slice(0, 1_000), sdpMid, sdpMLineIndex } });
  }

  async #restart(offer: string): Promise<string> {
    checkOffer(offer);
    if (this.#finishing !== undefined) throw svcError("SVC_CALL_OFFER", "the offer was refused: the call is over", { status: 409 });
    if (this.#restarting !== undefined) throw svcError("SVC_CALL_OFFER", "the offer was refused: an earlier one is still answered", { status: 409 });
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#restarts += 1;
        const attempt = this.#restarts;
        this.#restarting = { attempt, resolve, reject };
        timer = setTimeout(() => reject(svcError("SVC_CALL_MEDIA", `no answer was made within ${ANSWER_MS / 1000} s`, { status: 503 })), ANSWER_MS);
        this.#parts.tell({ op: "restart", call: this.#parts.number, attempt, offer });
      });
    } finally {
      clearTimeout(timer);
      this.#restarting = undefined;
    }
  }

  #finish(): Promise<void> {
    this.#finishing ??= (async () => {
      // The last stretch of speech comes before the end of the call.
      await Promise.race([this.#gone, patience(GONE_MS)]);
      await this.#scribe.close(this.#lingerMs);
      const { state, reason } = this.#last;
      this.#restarting?.reject(svcError("SVC_CALL_OFFER", "the offer was refused: the call is over", { status: 409 }));
      this.#call(() => this.#parts.request.onState?.(state, reason));
      this.#isOver = true;
      this.#parts.left();
    })();
    return this.#finishing;
  }

  /** The caller's own functions: what they throw is theirs. */
  #call(tell: () => void): void {
    if (this.#isOver) return;
    try {
      tell();
    } catch (error) {
      this.#parts.deps.log.warn({ call: this.#parts.request.id, reason: reasonOf(error) }, "what a call told was not taken");
    }
  }
}

const patience = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
