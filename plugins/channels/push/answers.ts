import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };

const PushDevice = objectOf(
  { id: text, name: text, service: { type: "string", description: "The host of its push service" }, addedAt: time },
  {
    lastAt: { ...time, description: "When the last notice was sent to it, Unix time in milliseconds" },
    lastError: { type: "string", description: "Why the last notice did not reach its push service" },
    stale: { const: true, description: "It subscribed with older keys: nothing reaches it until its page is opened again" },
  },
);

const PushNotice = objectOf({ id: text, at: time, title: text, text }, { priority: { type: "integer", minimum: 1, maximum: 5 } });

const PushRegistration = objectOf({ id: text, bearer: { type: "string", description: "What the device proves itself with; told this once" } });

const added: readonly RouteAnswer[] = [{ json: PushRegistration }];
const done: readonly RouteAnswer[] = [{ status: 204 }];
const recent: readonly RouteAnswer[] = [{ json: objectOf({ notices: listOf(PushNotice) }) }];
const devices: readonly RouteAnswer[] = [{ json: objectOf({ devices: listOf(PushDevice) }) }];

const answers: Answers = {
  schemas: { PushDevice, PushNotice, PushRegistration },
  routes: {
    "POST /api/push/subscribe": added,
    "DELETE /api/push/subscribe/:id": done,
    "GET /api/push/recent": recent,
    "GET /api/push/devices": devices,
    "GET /push/api/key": [{ json: objectOf({ publicKey: { type: "string", description: "Base64url, as browsers subscribe with it" } }) }],
    "POST /push/api/pair": added,
    "GET /push/api/recent": recent,
    "PUT /push/api/device": done,
    "DELETE /push/api/device": done,
    "GET /push/devices": devices,
    "DELETE /push/devices/:id": done,
    "POST /push/codes": [{ json: objectOf({ code: text, expiresAt: time }) }],
    "POST /push/relay": [{ json: objectOf({ ok: { const: true } }) }],
  },
};

export default answers;
