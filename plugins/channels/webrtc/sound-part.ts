/** An offer with its part of sound alone. */
export interface SoundPart {
  readonly offer: string;
  /** The answer to it as the answer to the whole offer: the other parts are refused, each in its place (RFC 3264, section 6). */
  whole(answer: string): string;
}

/** The first part of sound with Opus; pictures and data, which a call has no use for, do not get to the vendor. */
export function soundPartOf(offer: string): SoundPart {
  const { head, parts } = split(offer);
  const at = parts.findIndex((part) => /^m=audio [1-9]/.test(part) && /^a=rtpmap:\d+ opus\/48000/im.test(part));
  const sound = parts[at];
  if (sound === undefined || parts.length === 1) return { offer, whole: (answer) => answer };
  const mid = midOf(sound);
  const alone = head.replace(/^a=group:BUNDLE .*\r?\n/m, (line) =>
    mid !== undefined && line.trim().split(" ").includes(mid) ? `a=group:BUNDLE ${mid}\r\n` : "",
  );
  return {
    offer: alone + sound,
    whole(answer) {
      const taken = split(answer);
      return taken.head + parts.map((part, n) => (n === at ? (taken.parts[0] ?? refused(part)) : refused(part))).join("");
    },
  };
}

function split(sdp: string): { readonly head: string; readonly parts: readonly string[] } {
  const [head = "", ...parts] = sdp.split(/^(?=m=)/m);
  return { head, parts };
}

const midOf = (part: string): string | undefined => /^a=mid:(\S+)/m.exec(part)?.[1];

function refused(part: string): string {
  const [first = ""] = part.split(/\r?\n/);
  const mid = midOf(part);
  return [first.replace(/^(m=\S+) \S+/, "$1 0"), "c=IN IP4 0.0.0.0", ...(mid === undefined ? [] : [`a=mid:${mid}`]), "a=inactive", ""].join("\r\n");
}
