/**
 * Service `call-media`: the far end of calls, which hears and writes down and never says a word. Who may ring whom, and for how long, is
 * the business of its caller.
 */
export interface CallMedia {
  /**
   * Answers the offer of a caller's browser. Rejects with `SVC_CALL_OFFER` (its `status` is 4xx) for one that is too large, no session
   * description, or without sound, and with `SVC_CALL_MEDIA` (503) when this daemon cannot take a call now.
   */
  open(request: CallRequest): Promise<CallEnd>;
  /** What the browser reaches this machine by: goes to callers as it is, with its passwords. */
  iceServers(): readonly IceServer[];
  /** What is configured of calls, as it is now: ask at each use. */
  settings(): CallSettings;
}

/** A call that shall be answered. */
export interface CallRequest {
  /** One at a time of an id. */
  readonly id: string;
  readonly kind: "call";
  /** A session description (SDP). */
  readonly offer: string;
  /** A candidate for the caller's browser; undefined when there are no more. */
  onCandidate?(candidate: IceCandidate | undefined): void;
  /** What the caller said, in order. Not asked where nothing transcribes. */
  onText?(said: Said): void;
  /** The sound of each stretch of speech, before it is words. */
  onSpeech?(segment: SpeechSegment): void;
  /** `failed` and `closed` come once and last; `reason` is a sentence for the caller. */
  onState?(state: CallState, reason?: string): void;
}

/** `closed`: by `close`, or by the caller's browser. */
export type CallState = "connecting" | "connected" | "failed" | "closed";

/** A stretch of speech. */
export interface SpeechSegment {
  /** Milliseconds since the call was connected. */
  readonly atMs: number;
  readonly durationMs: number;
  /** Mono, 16 kHz. */
  readonly samples: Int16Array;
}

/** What was said in a stretch of speech. */
export interface Said {
  readonly atMs: number;
  readonly durationMs: number;
  /** The words, or with `lost` why there are none: to be shown like the others. */
  readonly text: string;
  readonly lost?: true;
}

/** This machine's end of one call. */
export interface CallEnd {
  readonly answer: string;
  /** A candidate of the caller's browser; one that is none is passed over. */
  candidate(candidate: IceCandidate): Promise<void>;
  /**
   * Takes an offer of the same connection with new ICE credentials, after the caller's network has changed; resolves with the answer.
   * Rejects with `SVC_CALL_OFFER` for any other offer; the call goes on as it was.
   */
  restart(offer: string): Promise<string>;
  /**
   * Takes nothing more in, hands out what was said up to now, and frees all the call has. Idempotent; when it resolves nothing of the call
   * is called again. What the recogniser has not written within `lingerMs` (default 5,000) is named as lost.
   */
  close(reason: string, lingerMs?: number): Promise<void>;
  /** Packets of sound taken in and sent; none is ever sent. */
  stats(): { readonly rtpIn: number; readonly rtpOut: number; readonly decodedMs: number; readonly waitingMs: number };
}

/** As browsers have it (`RTCIceCandidateInit`). */
export interface IceCandidate {
  readonly candidate: string;
  readonly sdpMid?: string | null;
  readonly sdpMLineIndex?: number | null;
}

/** As browsers have it (`RTCIceServer`). */
export interface IceServer {
  readonly urls: string | readonly string[];
  readonly username?: string;
  readonly credential?: string;
}

/** A chat of a channel. */
export interface CallChat {
  readonly channel: string;
  readonly chatId: string;
  readonly accountId?: string;
}

/** What is configured of calls and cameras, defaults filled in. */
export interface CallSettings {
  /** Who may call; empty: everybody who can reach the daemon. */
  readonly allowedCallers: readonly string[];
  readonly ringNotify: readonly CallChat[];
  readonly callUrlBase?: string;
  readonly camera: {
    readonly width: number;
    readonly height: number;
    readonly frameRate: number;
    readonly maxSeconds: number;
    readonly bot: {
      /** 0: only on request. */
      readonly frameIntervalSeconds: number;
      readonly maxSessionMinutes: number;
      /** Pixels. */
      readonly maxFrameEdge: number;
      readonly keepFrames: boolean;
    };
  };
  readonly bot: {
    readonly enabled: boolean;
    readonly defaultAgentId?: string;
    readonly transcriptChannel?: CallChat;
    readonly maxCallMinutes: number;
  };
}
