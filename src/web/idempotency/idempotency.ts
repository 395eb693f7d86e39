import { Injectable, Logger } from '@nestjs/common';
import { Fault, fault, uuidv7, withDeadline } from '../../kernel';
import { Settings } from '../../platform';
import { IdempotencyStore, type EarlierClaim } from './idempotency-store';
import type { Codec } from './codec';
import { Leases } from './leases';
import { type RepeatableRequest, type IdempotentOperation, operationOf } from './operation';

interface IdempotentResult<T> {
  readonly answer: T;
  /** Set if the answer is a replay. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Header of replayed answers, which cost nothing. */
const REPLAYED = { 'x-svc-replayed': 'true' } as const;
const RENEW_MS = 10_000;
const DATABASE_TIMEOUT_MS = 5_000;
/** Other requests can start and fail in between; after this number of rounds the key counts as busy. */
const MAX_TRIES = 3;

/** `Idempotency-Key`: executes a request once per key, and repeats its answer for a day. */
@Injectable()
export class Idempotency {
  private readonly logger = new Logger(Idempotency.name);
  private readonly leases: Leases;

  constructor(
    private readonly answers: IdempotencyStore,
    private readonly settings: Settings,
  ) {
    this.leases = new Leases((claims) => this.renew(claims), RENEW_MS);
  }

  async once<T>(
    request: RepeatableRequest,
    route: string,
    codec: Codec<T>,
    execute: () => Promise<T>,
  ): Promise<IdempotentResult<T>> {
    const operation = operationOf(request, route, this.settings.keyPepper);
    if (operation === null) return { answer: await execute() };
    const claim = uuidv7();
    const earlier = await this.claim(claim, operation);
    if (earlier !== null) return replay(earlier, codec);
    this.leases.start(claim);
    try {
      const answer = await this.attempt(claim, execute);
      await this.storeAnswer(claim, operation, codec.encode(answer));
      return { answer };
    } finally {
      this.leases.end(claim);
    }
  }

  /** Null if the caller owns the operation. */
  private async claim(claim: string, operation: IdempotentOperation): Promise<EarlierClaim | null> {
    let abandoned: string | null = null;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (await withTimeout(this.answers.claim(claim, operation, abandoned))) return null;
      const earlier = await withTimeout(this.answers.find(operation));
      if (earlier !== null && earlier.standing !== 'abandoned') return earlier;
      abandoned = earlier?.claim ?? null;
    }
    throw inProgress();
  }

  private async attempt<T>(claim: string, execute: () => Promise<T>): Promise<T> {
    try {
      return await execute();
    } catch (error) {
      // The charge remains unknown until the lease ends.
      const isChargeUnknown = error instanceof Fault && error.code === 'supplier_settlement_failed';
      if (!isChargeUnknown) await this.runOrWarn('released', this.answers.release(claim));
      throw error;
    }
  }

  /**
   * The answer was paid for: failing to store it does not prevent sending it, and the claim stays until its lease ends.
   */
  private async storeAnswer(claim: string, operation: IdempotentOperation, answer: Buffer): Promise<void> {
    const write =
      answer.length > this.settings.idempotentAnswerLimitBytes
        ? this.answers.markUnstored(claim)
        : this.answers.store(claim, operation, answer);
    if ((await this.runOrWarn('kept', write)) === false)
      this.logger.warn(`Request ${operation.requestId} took so long that another carried it out as well.`);
  }

  private async renew(claims: readonly string[]): Promise<void> {
    await this.runOrWarn('renewed', this.answers.renew(claims));
  }

  private async runOrWarn<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    try {
      return await withTimeout(work);
    } catch (error) {
      this.logger.warn(`An idempotent call could not be ${what}: ${String(error)}`);
      return undefined;
    }
  }
}

function replay<T>(
  { sameRequest, standing, requestId, answer }: EarlierClaim,
  codec: Codec<T>,
): IdempotentResult<T> {
  if (!sameRequest) {
    throw conflict(
      requestId,
      'This idempotency key was already used with another body or on another route. Use a new key for a new request.',
    );
  }
  if (standing === 'running') throw inProgress();
  if (answer === null) {
    throw conflict(
      requestId,
      'This request was carried out, but its answer is not kept: it was too large, made room for newer ones, or was lost. Use a new key to send the request again.',
    );
  }
  return {
    answer: codec.decode(answer),
    headers: { ...REPLAYED, 'x-request-id': requestId },
  };
}

const withTimeout = <T>(work: Promise<T>): Promise<T> =>
  withDeadline(DATABASE_TIMEOUT_MS, work, () => fault('service_unavailable', { retryAfterSeconds: 1 }));

const inProgress = (): Fault => fault('operation_in_progress', { retryAfterSeconds: 1 });

const conflict = (requestId: string, message: string): Fault =>
  fault('idempotency_conflict', {
    param: 'Idempotency-Key',
    message,
    details: { first_request_id: requestId },
  });
