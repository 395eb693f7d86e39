import { Processor as BullProcessor } from '@nestjs/bullmq';

/** How long a worker waits after a failed database connection, even if the service stops meanwhile. */
const RETRY_MS = 1_000;

export const Processor = (queue: string, options: { readonly concurrency?: number } = {}): ClassDecorator =>
  BullProcessor(queue, { runRetryDelay: RETRY_MS, ...options });
