import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { MINUTE_MS } from '../../kernel';
import { type FreshResponse, type ResponseStore, sizeOf } from './response-store';

interface Waiting {
  readonly kept: FreshResponse;
  readonly done: () => void;
}

/** The last byte of an answer waits so long for its row. */
const PATIENCE_MS = 1_000;
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
const BATCH_ROWS = 64;
const BATCH_BYTES = 4 * 1024 * 1024;
const WARN_EVERY_MS = MINUTE_MS;

/**
 * Writes stored answers one batch at a time, so that they use at most one connection. Answers wait for their batch,
 * within a bound: while the database is away or slow, they leave without waiting.
 */
export class ResponseWriter {
  private readonly logger = new Logger(ResponseWriter.name);
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  private isWriting = false;
  private isWell = true;
  private warnedAt = -Infinity;

  constructor(
    private readonly store: Pick<ResponseStore, 'write'>,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /** Settles when the answer is written, or when waiting is pointless. */
  async write(kept: FreshResponse): Promise<void> {
    const size = sizeOf(kept.answer, kept.input);
    if (this.waitingBytes + size > MOST_WAITING_BYTES) return this.warn('too many wait for the database');
    const written = new Promise<void>((done) => this.waiting.push({ kept, done }));
    this.waitingBytes += size;
    if (!this.isWriting) void this.writeAll();
    if (!this.isWell) return;
    const patience = new AbortController();
    const late = delay(this.patienceMs, true, { signal: patience.signal }).catch(() => false);
    if (await Promise.race([written.then(() => false), late])) this.isWell = false;
    patience.abort();
  }

  private async writeAll(): Promise<void> {
    this.isWriting = true;
    while (this.waiting.length > 0) await this.writeBatch(this.takeBatch());
    this.isWriting = false;
  }

  private async writeBatch(batch: readonly Waiting[]): Promise<void> {
    // The later of two answers with one id is the one that counts.
    const byId = new Map(batch.map(({ kept }) => [`${kept.keyId} ${kept.responseId}`, kept]));
    try {
      await this.store.write([...byId.values()]);
      this.isWell = true;
    } catch (error) {
      this.isWell = false;
      this.warn(String(error));
    }
    for (const { kept, done } of batch) {
      this.waitingBytes -= sizeOf(kept.answer, kept.input);
      done();
    }
  }

  private takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { kept } of this.waiting) {
      bytes += sizeOf(kept.answer, kept.input);
      if (count > 0 && (bytes > BATCH_BYTES || count === BATCH_ROWS)) break;
      count += 1;
    }
    return this.waiting.splice(0, count);
  }

  private warn(why: string): void {
    const now = performance.now();
    if (now - this.warnedAt < WARN_EVERY_MS) return;
    this.warnedAt = now;
    this.logger.warn(`Answers of /v1/responses are not kept for other nodes: ${why}`);
  }
}
