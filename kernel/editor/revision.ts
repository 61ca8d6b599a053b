import { createHash } from "node:crypto";

/** Returns the revision of a text (svc.json, or a part of it): a hash of its content. */
export const revisionOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22);
