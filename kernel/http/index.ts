export { type Admission, type AdmissionOptions, createAdmission, type Refusal } from "./admit.ts";
export { checkRoute } from "./router.ts";
export { kernelRoutes } from "./routes/index.ts";
export { openapiRoute } from "./routes/openapi-route.ts";
export { createHttpServer, type HttpServer, type HttpServerOptions } from "./server.ts";
export type { ServedRoute } from "./surface.ts";
