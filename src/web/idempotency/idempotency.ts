import { Injectable, Logger } from '@nestjs/common';
import { Fault, fault, uuidv7, withDeadline } from '../../kernel';
import { Settings } from '../../platform';
import { AnswerStore, type Earlier } from './answer-store';
import type { Codec } from './codec';
import { Leases } from './leases';
import { type RepeatableRequest, type Operation, operationOf } from './operation';

interface Outcome<T> {
  readonly answer: T;
  /** It is set when the answer is an earlier one's. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Told with every answer that is repeated; such an answer costs nothing. */
const REPLAYED = { 'x-svc-replayed': 'true' } as const;
const RENEW_MS = 10_000;
/** The longest wait for the database, both for a caller and for an answer that was paid for. */
const PATIENCE_MS = 5_000;
/** Other requests may begin and fail in between; after so many rounds the key counts as busy. */
const MOST_TRIES = 3;

/** `Idempotency-Key`: the same request under the same key is carried out once, and answered the same for a day. */
@Injectable()
export class Idempotency {
  private readonly logger = new Logger(Idempotency.name);
  private readonly leases: Leases;

  constructor(
    private readonly answers: AnswerStore,
    private readonly settings: Settings,
  ) {
    this.leases = new Leases((claims) => this.renew(claims), RENEW_MS);
  }

  /** Runs the operation once, for any answer that a codec can store; `route` identifies the operation. */
  async once<T>(
    asked: RepeatableRequest,
    route: string,
    codec: Codec<T>,
    execute: () => Promise<T>,
  ): Promise<Outcome<T>> {
    const operation = operationOf(asked, route, this.settings.keyPepper);
    if (operation === null) return { answer: await execute() };
    const claim = uuidv7();
    const earlier = await this.claim(claim, operation);
    if (earlier !== null) return replay(earlier, codec);
    this.leases.begin(claim);
    try {
      const answer = await this.attempt(claim, execute);
      await this.keep(claim, operation, codec.encode(answer));
      return { answer };
    } finally {
      this.leases.end(claim);
    }
  }

  /** Null: the operation is the caller's. */
  private async claim(claim: string, operation: Operation): Promise<Earlier | null> {
    let abandoned: string | null = null;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      if (await inTime(this.answers.claim(claim, operation, abandoned))) return null;
      const earlier = await inTime(this.answers.find(operation));
      if (earlier !== null && earlier.standing !== 'abandoned') return earlier;
      abandoned = earlier?.claim ?? null;
    }
    throw inProgress();
  }

  private async attempt<T>(claim: string, execute: () => Promise<T>): Promise<T> {
    try {
      return await execute();
    } catch (error) {
      // The charge of this one will only be known when its lease is over.
      const isInDoubt = error instanceof Fault && error.code === 'supplier_settlement_failed';
      if (!isInDoubt) await this.quietly('released', this.answers.release(claim));
      throw error;
    }
  }

  /** The answer was paid for: it is sent even if it cannot be stored, and the claim stays until its lease ends. */
  private async keep(claim: string, operation: Operation, answer: Buffer): Promise<void> {
    const kept =
      answer.length > this.settings.idempotentAnswerLimitBytes
        ? this.answers.bar(claim)
        : this.answers.keep(claim, operation, answer);
    if ((await this.quietly('kept', kept)) === false)
      this.logger.warn(`Request ${operation.requestId} took so long that another carried it out as well.`);
  }

  private async renew(claims: readonly string[]): Promise<void> {
    await this.quietly('renewed', this.answers.renew(claims));
  }

  private async quietly<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    try {
      return await inTime(work);
    } catch (error) {
      this.logger.warn(`An idempotent call could not be ${what}: ${String(error)}`);
      return undefined;
    }
  }
}

function replay<T>({ sameRequest, standing, requestId, answer }: Earlier, codec: Codec<T>): Outcome<T> {
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

const inTime = <T>(work: Promise<T>): Promise<T> =>
  withDeadline(PATIENCE_MS, work, () => fault('service_unavailable', { retryAfterSeconds: 1 }));

const inProgress = (): Fault => fault('operation_in_progress', { retryAfterSeconds: 1 });

const conflict = (requestId: string, message: string): Fault =>
  fault('idempotency_conflict', {
    param: 'Idempotency-Key',
    message,
    details: { first_request_id: requestId },
  });
