import type { CallState, IceCandidate, IceServer } from "@svc/sdk";

/** Network options of a call. */
export interface PeerOptions {
  readonly iceServers: readonly IceServer[];
  readonly hostAddresses: readonly string[];
  readonly portRange?: readonly [from: number, to: number];
  readonly relayOnly: boolean;
}

/** Messages to the thread of calls. */
export type Told =
  | { readonly op: "open"; readonly call: number; readonly offer: string; readonly options: PeerOptions }
  | { readonly op: "candidate"; readonly call: number; readonly candidate: IceCandidate }
  | { readonly op: "restart"; readonly call: number; readonly attempt: number; readonly offer: string }
  | { readonly op: "close"; readonly call: number };

/** Messages from the thread. `ended` is the last of a call: its resources are released. */
export type Heard =
  | { readonly op: "answer"; readonly call: number; readonly sdp: string }
  | { readonly op: "restarted"; readonly call: number; readonly attempt: number; readonly sdp?: string; readonly reason?: string }
  | { readonly op: "refused"; readonly call: number; readonly reason: string; readonly isOurs: boolean }
  | { readonly op: "candidate"; readonly call: number; readonly candidate?: IceCandidate }
  | { readonly op: "state"; readonly call: number; readonly state: CallState; readonly reason?: string }
  | { readonly op: "speech"; readonly call: number; readonly atMs: number; readonly samples: Int16Array }
  | { readonly op: "trouble"; readonly call: number; readonly reason: string }
  | { readonly op: "stats"; readonly call: number; readonly rtpIn: number; readonly rtpOut: number; readonly decodedMs: number }
  | { readonly op: "ended"; readonly call: number };

/** As `Heard`, without the call: said by the end of one call. */
export type PeerEvent = Heard extends infer H ? (H extends { call: number } ? Omit<H, "call"> : never) : never;
