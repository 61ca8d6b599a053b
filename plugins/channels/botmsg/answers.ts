import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };

const PairingRequest = objectOf({ account: text, sender: text, chat: text, at: { type: "string", format: "date-time" } }, { name: text });

const waiting: readonly RouteAnswer[] = [{ json: objectOf({ waiting: listOf(PairingRequest) }) }];
const confirmed: readonly RouteAnswer[] = [{ json: PairingRequest }];

const answers: Answers = {
  schemas: { PairingRequest },
  routes: {
    "GET /channels/botmsg/pair": waiting,
    "POST /channels/botmsg/pair": confirmed,
    "GET /api/channels/botmsg/people": waiting,
    "POST /api/channels/botmsg/people": confirmed,
  },
};

export default answers;
