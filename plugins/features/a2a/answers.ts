import { type Answers, objectOf } from "@svc/sdk";

const answers: Answers = {
  schemas: {},
  routes: {
    "POST /a2a/notify": [{ json: objectOf({ status: { type: "integer", description: "The HTTP status that the caller's webhook answered with" } }) }],
  },
};

export default answers;
