/**
 * Service `call-media`: the far end of calls, which listens, transcribes and never sends audio. Who may call whom, and for how long, is decided by
 * the calling plugin.
 */
export interface CallMedia {
  /**
   * Answers the offer of a caller's browser. Rejects with `SVC_CALL_OFFER` (its `status` is 4xx) for one that is too large, no session
   * description, or without sound, and with `SVC_CALL_MEDIA` (503) when this daemon cannot take a call now.
   */
  open(request: CallRequest): Promise<CallEnd>;
  /** ICE servers for the browser: sent to callers unchanged, including passwords. */
  iceServers(): readonly IceServer[];
  /** Current configuration of calls: call it at each use. */
  settings(): CallSettings;
}

/** A call that shall be answered. */
export interface CallRequest {
  /** One at a time of an id. */
  readonly id: string;
  readonly kind: "call";
  /** A session description (SDP). */
  readonly offer: string;
  /** Receives a candidate for the caller's browser; undefined at the end of candidates. */
  onCandidate?(candidate: IceCandidate | undefined): void;
  /** Receives the caller's speech as text, in order. Not called without a transcription backend. */
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

/** Transcript of one stretch of speech. */
export interface Said {
  readonly atMs: number;
  readonly durationMs: number;
  /** The transcript, or with `lost` the reason why there is no text: shown in the same way. */
  readonly text: string;
  readonly lost?: true;
}

/** The daemon's end of one call. */
export interface CallEnd {
  readonly answer: string;
  /** A candidate of the caller's browser; an invalid one is skipped. */
  candidate(candidate: IceCandidate): Promise<void>;
  /**
   * Accepts an offer of the same connection with new ICE credentials, after the caller's network has changed; resolves with the answer. Rejects with
   * `SVC_CALL_OFFER` for any other offer; the call continues unchanged.
   */
  restart(offer: string): Promise<string>;
  /**
   * Stops input, delivers the transcript up to now, and releases all resources of the call. Idempotent; no callback of the call runs after it
   * resolves. Speech that is not transcribed within `lingerMs` (default 5,000) is reported as lost.
   */
  close(reason: string, lingerMs?: number): Promise<void>;
  /** RTP packets received and sent; `rtpOut` is always 0. */
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

/** Configuration of calls and cameras, defaults filled in. */
export interface CallSettings {
  /** Who may call; empty: everyone who can reach the daemon. */
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
