import { Processor as BullProcessor } from '@nestjs/bullmq';

/** A worker that is refused its database waits so long, also when the service stops meanwhile. */
const RETRY_MS = 1_000;

/** The worker of a queue. */
export const Processor = (queue: string, options: { readonly concurrency?: number } = {}): ClassDecorator =>
  BullProcessor(queue, { runRetryDelay: RETRY_MS, ...options });
