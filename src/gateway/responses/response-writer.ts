import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { MINUTE_MS } from '../../kernel';
import { type NewStoredResponse, type ResponseStore, sizeOf } from './response-store';

interface QueuedResponse {
  readonly response: NewStoredResponse;
  readonly done: () => void;
}

/** Maximum wait of a response's last byte for its row. */
const MAX_WAIT_MS = 1_000;
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
const MAX_BATCH_ROWS = 64;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const WARNING_INTERVAL_MS = MINUTE_MS;

/**
 * Writes stored responses one batch at a time over a single connection. Responses wait for their batch up to a maximum
 * time, and not at all while the database is down or slow.
 */
export class ResponseWriter {
  private readonly logger = new Logger(ResponseWriter.name);
  private queue: QueuedResponse[] = [];
  private queuedBytes = 0;
  private isWriting = false;
  private isHealthy = true;
  private warnedAt = -Infinity;

  constructor(
    private readonly store: Pick<ResponseStore, 'write'>,
    private readonly maxWaitMs = MAX_WAIT_MS,
  ) {}

  /** Settles when the response is written, or when waiting is pointless. */
  async write(response: NewStoredResponse): Promise<void> {
    const size = sizeOf(response.answer, response.input);
    if (this.queuedBytes + size > MAX_QUEUED_BYTES) return this.warn('too many wait for the database');
    const written = new Promise<void>((done) => this.queue.push({ response, done }));
    this.queuedBytes += size;
    if (!this.isWriting) void this.writeAll();
    if (!this.isHealthy) return;
    const abortController = new AbortController();
    const timeout = delay(this.maxWaitMs, true, { signal: abortController.signal }).catch(() => false);
    if (await Promise.race([written.then(() => false), timeout])) this.isHealthy = false;
    abortController.abort();
  }

  private async writeAll(): Promise<void> {
    this.isWriting = true;
    while (this.queue.length > 0) await this.writeBatch(this.takeBatch());
    this.isWriting = false;
  }

  private async writeBatch(batch: readonly QueuedResponse[]): Promise<void> {
    // The later of two responses with the same id counts.
    const byId = new Map(batch.map(({ response: kept }) => [`${kept.keyId} ${kept.responseId}`, kept]));
    try {
      await this.store.write([...byId.values()]);
      this.isHealthy = true;
    } catch (error) {
      this.isHealthy = false;
      this.warn(String(error));
    }
    for (const { response: kept, done } of batch) {
      this.queuedBytes -= sizeOf(kept.answer, kept.input);
      done();
    }
  }

  private takeBatch(): QueuedResponse[] {
    let bytes = 0;
    let count = 0;
    for (const { response: kept } of this.queue) {
      bytes += sizeOf(kept.answer, kept.input);
      if (count > 0 && (bytes > MAX_BATCH_BYTES || count === MAX_BATCH_ROWS)) break;
      count += 1;
    }
    return this.queue.splice(0, count);
  }

  private warn(reason: string): void {
    const now = performance.now();
    if (now - this.warnedAt < WARNING_INTERVAL_MS) return;
    this.warnedAt = now;
    this.logger.warn(`Answers of /v1/responses are not kept for other nodes: ${reason}`);
  }
}
