import { type Answers, objectOf } from "@svc/sdk";

const answers: Answers = { schemas: {}, routes: { "POST /notify": [{ json: objectOf({ channel: { type: "string" }, delivery: { type: "string" } }) }] } };

export default answers;
