export { createDeliveries, type DeliveriesGround, type DeliveryLimits } from "./deliveries.ts";
export { createLoopGuard, type LoopGuard } from "./loop-guard.ts";
