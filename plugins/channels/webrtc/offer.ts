import { svcError } from "@svc/sdk";

const LARGEST = 64 * 1024;
const MOST_PARTS = 16;

/** Throws `SVC_CALL_OFFER` for anything but an offer of sound from a browser. */
export function checkOffer(offer: unknown): asserts offer is string {
  const refuse = (status: number, why: string) => svcError("SVC_CALL_OFFER", `the offer was refused: ${why}`, { status });
  if (typeof offer !== "string" || offer === "") throw refuse(400, "it must be a session description (SDP), as text");
  if (Buffer.byteLength(offer) > LARGEST) throw refuse(413, `it is larger than ${LARGEST / 1024} KB`);
  const lines = offer.split(/\r\n|\n/);
  if (lines[0] !== "v=0") throw refuse(400, "it is no session description (SDP): its first line must be v=0");
  if (lines.filter((line) => line.startsWith("m=")).length > MOST_PARTS) throw refuse(400, `it has more than ${MOST_PARTS} parts`);
  if (!lines.some((line) => /^m=audio \d+ \S*SAVPF? /.test(line))) throw refuse(400, "it offers no encrypted sound (m=audio)");
  if (!lines.some((line) => /^a=rtpmap:\d+ opus\/48000/i.test(line))) throw refuse(400, "its sound is not Opus, which every browser has");
  for (const need of ["a=ice-ufrag:", "a=ice-pwd:", "a=fingerprint:"]) {
    if (!lines.some((line) => line.startsWith(need))) throw refuse(400, `it lacks ${need.slice(2, -1)}`);
  }
}
