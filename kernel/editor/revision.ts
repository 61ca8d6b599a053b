import { createHash } from "node:crypto";

/** Tells one content of svc.json, or of a part of it, from another. */
export const revisionOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22);
