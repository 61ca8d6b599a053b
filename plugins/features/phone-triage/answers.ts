import { type Answers, objectOf } from "@svc/sdk";

const answers: Answers = {
  schemas: {},
  routes: {
    "POST /webhook/wacli": [
      {
        status: 202,
        json: { ...objectOf({ accepted: { const: true } }), description: "The same for a message that no rule matches. The sync tool reads the status alone" },
      },
    ],
  },
};

export default answers;
