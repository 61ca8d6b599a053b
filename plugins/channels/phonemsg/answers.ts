import { type Answers, listOf, objectOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const state: Schema = { type: "string", enum: ["unpaired", "pairing", "connecting", "open", "down"] };

const code: Schema = { type: "string", description: "What is typed on the phone, where a number was given" };
const number: Schema = { type: "string", description: "The number that is linked" };

const PhonePairing = objectOf(
  { state },
  { qr: { type: "string", description: "What the phone scans, as text; another one after 20 to 60 seconds" }, code, number, reason: text },
);

const PhonePairingPage = objectOf(
  { state },
  {
    picture: { ...listOf({ type: "string", pattern: "^[01]+$" }), description: "What the phone scans: rows of a QR code, 1 for a dark module" },
    code,
    number,
    reason: text,
    cause: { type: "string", enum: ["expired", "unlinked", "refused", "replaced", "outdated", "unreached"] },
  },
);

const PhoneUnpaired = objectOf({ state: { const: "unpaired" }, kept: { type: "string", description: "Where the old session lies" } });

const PhoneChat = objectOf({ id: text, kind: { type: "string", enum: ["direct", "group"] } }, { name: text, lastAt: { type: "string", format: "date-time" } });

const PhoneContact = objectOf(
  { id: text },
  {
    number: text,
    saved: { type: "string", description: "As the owner of the phone has saved it" },
    push: { type: "string", description: "As the person calls itself" },
  },
);

const PhoneIngest = objectOf(
  {
    written: count,
    unchanged: count,
    skipped: { ...count, description: "Chats and contacts that the lists leave out, and chats beyond the most of one run" },
    purged: count,
    errors: listOf(objectOf({ message: text }, { chat: text })),
    entries: { ...listOf(text), description: "Files that were written, or with dryRun would be" },
  },
  { dryRun: { const: true } },
);

const answers: Answers = {
  schemas: { PhoneChat, PhoneContact, PhoneIngest, PhonePairing, PhonePairingPage, PhoneUnpaired },
  routes: {
    "GET /channels/phonemsg/pair": [{ json: PhonePairing }],
    "POST /channels/phonemsg/pair": [{ json: PhonePairing }],
    "DELETE /channels/phonemsg/pair": [{ json: PhoneUnpaired }],
    "GET /api/channels/phonemsg/pair": [{ json: PhonePairingPage }],
    "POST /api/channels/phonemsg/pair": [{ json: PhonePairingPage }],
    "DELETE /api/channels/phonemsg/pair": [{ json: PhoneUnpaired }],
    "GET /phonemsg/chats": [{ json: objectOf({ chats: listOf(PhoneChat) }) }],
    "GET /phonemsg/contacts": [{ json: objectOf({ contacts: listOf(PhoneContact) }) }],
    "POST /phonemsg/ingest": [{ json: PhoneIngest }],
  },
};

export default answers;
