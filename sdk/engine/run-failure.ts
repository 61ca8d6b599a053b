import type { SvcError } from "../errors.ts";
import { type FailureKind, type TierFailure, tierFailure } from "../failure.ts";
import { describeGone, type RpcGone } from "./line-rpc.ts";
import { vendorFailure } from "./vendor-failure.ts";

/** Failure of a run that its caller ended. */
const cancelled = (): TierFailure => tierFailure("cancelled", "The run was ended.");

/** The failure of a run whose program went away, or cannot be understood, before the turn was over. */
export function goneFailure(gone: RpcGone, signal: AbortSignal): TierFailure {
  if (signal.aborted) return cancelled();
  const { kind, message } = describeGone(gone);
  return tierFailure(kind, message);
}

/**
 * Returns the failure for an error of the run: by the error's own `kind`, else by its code. `refusal` classifies an error of the program; default:
 * its message is read as a vendor's.
 */
export function runFailure(
  error: unknown,
  signal: AbortSignal,
  refusal: (error: SvcError) => TierFailure = ({ message }) => vendorFailure({ status: 0, message }),
): TierFailure {
  if (signal.aborted) return cancelled();
  const { code = "", message, kind } = error as SvcError & { readonly kind?: FailureKind };
  if (code === "SVC_RPC_REFUSED") return refusal(error as SvcError);
  if (kind !== undefined) return tierFailure(kind, message);
  if (code === "SVC_BILLING_KEY_MISSING") return tierFailure("no-key", message);
  if (code.startsWith("SVC_BILLING")) return tierFailure("billing", message);
  return tierFailure(code === "SVC_RPC_SILENT" || code === "SVC_TIER_HANDSHAKE" ? "protocol" : "program", message);
}
