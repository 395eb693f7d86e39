import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import type { Nano } from '../../../kernel';
import type { DatabaseClock } from '../../../platform';
import { type Ask, type Drawn, LeaseGone, type MoneyStore, type Portion } from '../store/money-store';
import type { SliceBook } from './slice-book';

/** These figures say what the settlement of this node is doing. */
export interface SettlementActivity {
  readonly busy: boolean;
  readonly commits: number;
}

const answerDeadlineMs = 10_000;

/**
 * The lease under which this node draws, hands back and audits: one operation at a time, numbered. So an operation whose
 * answer was lost is neither counted twice nor takes effect later. A swept lease is followed by another (`lapsed`).
 */
export class NodeLease extends EventEmitter<{ lapsed: [] }> {
  private readonly logger = new Logger(NodeLease.name);
  private current = randomUUID();
  private queue: Promise<unknown> = Promise.resolve();
  private operation = 0;
  private doubtful = false;
  private exists = false;
  private admitUntil = -Infinity;
  private renewedAt: number;
  private closed = false;
  /** So many leases of this node were swept. */
  lapses = 0;

  constructor(
    private readonly store: MoneyStore,
    private readonly clock: DatabaseClock,
    private readonly book: SliceBook,
  ) {
    super();
    this.renewedAt = clock.elapsedMs();
  }

  get id(): string {
    return this.current;
  }

  /** The lease exists in the database: before that there is nothing to draw under. */
  get begun(): boolean {
    return this.exists;
  }

  /** An answer was lost, so that the database may hold more for this node than its memory says. */
  get inDoubt(): boolean {
    return this.doubtful;
  }

  /** False as soon as the lease might end before a request that is admitted now is counted. */
  get admits(): boolean {
    return !this.closed && this.clock.elapsedMs() < this.admitUntil;
  }

  /** Since the last renewal, or since the start before the first one. */
  get ageMs(): number {
    return this.clock.elapsedMs() - this.renewedAt;
  }

  /** The database knows the lease now; requests are admitted until the given moment. */
  renewed(admitUntil: number): void {
    this.exists = true;
    this.renewedAt = this.clock.elapsedMs();
    this.admitUntil = admitUntil;
  }

  /** Nothing is admitted any more, and no other lease begins. */
  close(): void {
    this.closed = true;
  }

  /** Another node swept this lease: everything under it belongs to others, and a new one begins from nothing. */
  lapse(): void {
    if (this.closed) return;
    this.lapses += 1;
    this.logger.warn('The escrow lease ran out and was swept; beginning a new one.');
    this.current = randomUUID();
    this.queue = Promise.resolve();
    this.operation = 0;
    this.doubtful = this.exists = false;
    this.admitUntil = -Infinity;
    this.book.lapse();
    this.emit('lapsed');
  }

  /** `apply` runs before anything else may be drawn or handed back. */
  draw(asks: readonly Ask[], apply: (drawn: readonly Drawn[]) => void): Promise<void> {
    return this.next(async (lease, operation) =>
      apply(await this.answer(lease, this.store.draw(lease, operation, asks))),
    );
  }

  giveBack(collect: () => readonly Portion[]): Promise<void> {
    return this.next(async (lease, operation) => {
      const portions = collect();
      if (portions.length > 0) await this.answer(lease, this.store.giveBack(lease, operation, portions));
    });
  }

  /**
   * Finds money that the database holds for this node and its memory does not show. A settlement that commits
   * meanwhile makes the surplus look smaller, never larger; then the doubt stays until the next time.
   */
  audit(settling: { activity(): SettlementActivity }): Promise<void> {
    return this.next(async (lease, operation) => {
      const expected = this.drawnByWindow();
      const before = settling.activity();
      const slices = await this.answer(lease, this.store.audit(lease, operation));
      this.doubtful = before.busy || settling.activity().commits !== before.commits;
      for (const { windowId, amount } of slices) {
        const surplus = amount - (expected.get(windowId) ?? 0n);
        if (surplus > 0n) this.adopt({ windowId, amount: surplus });
      }
    });
  }

  private drawnByWindow(): Map<string, Nano> {
    const drawn = new Map<string, Nano>();
    for (const { window, drawn: amount } of this.book.all())
      if (window !== null) drawn.set(window.id, (drawn.get(window.id) ?? 0n) + amount);
    return drawn;
  }

  private adopt({ windowId, amount }: Portion): void {
    const slice = this.book.ofWindow(windowId);
    if (slice !== undefined) slice.receive(amount);
    else void this.giveBack(() => [{ windowId, amount }]).catch(() => undefined);
  }

  /** An answer about a swept lease describes money that belongs to other nodes by now. */
  private async answer<T>(lease: string, given: Promise<T>): Promise<T> {
    const answer = await inTime(given);
    if (lease !== this.current) throw new LeaseGone();
    return answer;
  }

  private next(work: (lease: string, operation: number) => Promise<void>): Promise<void> {
    const lease = this.current;
    const mine = this.queue.then(async () => {
      if (lease !== this.current) throw new LeaseGone();
      this.operation += 1;
      try {
        await work(lease, this.operation);
      } catch (error) {
        if (lease === this.current) {
          if (error instanceof LeaseGone) this.lapse();
          else this.doubtful = true;
        }
        throw error;
      }
    });
    this.queue = mine.catch(() => undefined);
    return mine;
  }
}

/** A connection that hangs must not hold up the next operation; a late answer is ignored. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the database does not answer')), answerDeadlineMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
