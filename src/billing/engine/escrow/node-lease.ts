import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import type { Nano } from '../../../kernel';
import type { DatabaseClock } from '../../../platform';
import {
  type DrawRequest,
  type DrawResult,
  LeaseGone,
  type MoneyStore,
  type SlicePortion,
} from '../store/money-store';
import type { SliceRegistry } from './slice-registry';

export interface SettlementActivity {
  readonly busy: boolean;
  readonly commits: number;
}

const MAX_RESPONSE_MS = 10_000;

/**
 * The lease under which this node draws, hands back and audits: one numbered operation at a time. An operation whose
 * response is lost is neither counted twice nor takes effect later.
 */
export class NodeLease extends EventEmitter<{ lapsed: [] }> {
  private readonly logger = new Logger(NodeLease.name);
  private current = randomUUID();
  private queue: Promise<unknown> = Promise.resolve();
  private operation = 0;
  private isInDoubt = false;
  private isActive = false;
  private admitUntil = -Infinity;
  private renewedAt: number;
  private closed = false;
  lapses = 0;

  constructor(
    private readonly store: MoneyStore,
    private readonly clock: DatabaseClock,
    private readonly registry: SliceRegistry,
  ) {
    super();
    this.renewedAt = clock.elapsedMs();
  }

  get id(): string {
    return this.current;
  }

  /** Whether the lease exists in the database; nothing can be drawn before that. */
  get isStarted(): boolean {
    return this.isActive;
  }

  /** Whether a response was lost, so that the database might hold more for this node than its memory shows. */
  get inDoubt(): boolean {
    return this.isInDoubt;
  }

  /** False as soon as the lease might end before a request admitted now is counted. */
  get isAdmitting(): boolean {
    return !this.closed && this.clock.elapsedMs() < this.admitUntil;
  }

  /** Age of the last renewal; before the first one, time since the start. */
  get ageMs(): number {
    return this.clock.elapsedMs() - this.renewedAt;
  }

  /** Records a renewal in the database; requests are admitted until the time given. */
  markRenewed(admitUntil: number): void {
    this.isActive = true;
    this.renewedAt = this.clock.elapsedMs();
    this.admitUntil = admitUntil;
  }

  /** Stops admitting, and prevents another lease from starting. */
  close(): void {
    this.closed = true;
  }

  lapse(): void {
    if (this.closed) return;
    this.lapses += 1;
    this.logger.warn('The escrow lease ran out and was swept; beginning a new one.');
    this.current = randomUUID();
    this.queue = Promise.resolve();
    this.operation = 0;
    this.isInDoubt = this.isActive = false;
    this.admitUntil = -Infinity;
    this.registry.lapse();
    this.emit('lapsed');
  }

  /** Calls `apply` before anything else can be drawn or handed back. */
  draw(requests: readonly DrawRequest[], apply: (drawn: readonly DrawResult[]) => void): Promise<void> {
    return this.enqueue(async (lease, operation) =>
      apply(await this.ofCurrentLease(lease, this.store.draw(lease, operation, requests))),
    );
  }

  giveBack(collect: () => readonly SlicePortion[]): Promise<void> {
    return this.enqueue(async (lease, operation) => {
      const portions = collect();
      if (portions.length > 0)
        await this.ofCurrentLease(lease, this.store.giveBack(lease, operation, portions));
    });
  }

  /**
   * Finds money that the database holds for this node and its memory does not show. A concurrent settlement can only
   * make the surplus look smaller; the doubt then stays until the next audit.
   */
  audit(settlements: { activity(): SettlementActivity }): Promise<void> {
    return this.enqueue(async (lease, operation) => {
      const expected = this.drawnByWindow();
      const before = settlements.activity();
      const slices = await this.ofCurrentLease(lease, this.store.audit(lease, operation));
      this.isInDoubt = before.busy || settlements.activity().commits !== before.commits;
      for (const { windowId, amount } of slices) {
        const surplus = amount - (expected.get(windowId) ?? 0n);
        if (surplus > 0n) this.adopt({ windowId, amount: surplus });
      }
    });
  }

  private drawnByWindow(): Map<string, Nano> {
    const drawn = new Map<string, Nano>();
    for (const { window, drawn: amount } of this.registry.all())
      if (window !== null) drawn.set(window.id, (drawn.get(window.id) ?? 0n) + amount);
    return drawn;
  }

  private adopt({ windowId, amount }: SlicePortion): void {
    const slice = this.registry.ofWindow(windowId);
    if (slice !== undefined) slice.receive(amount);
    else void this.giveBack(() => [{ windowId, amount }]).catch(() => undefined);
  }

  /** Returns the response, unless the lease was swept meanwhile: its money then belongs to other nodes. */
  private async ofCurrentLease<T>(lease: string, pending: Promise<T>): Promise<T> {
    const response = await withTimeout(pending);
    if (lease !== this.current) throw new LeaseGone();
    return response;
  }

  private enqueue(work: (lease: string, operation: number) => Promise<void>): Promise<void> {
    const lease = this.current;
    const task = this.queue.then(async () => {
      if (lease !== this.current) throw new LeaseGone();
      this.operation += 1;
      try {
        await work(lease, this.operation);
      } catch (error) {
        if (lease === this.current) {
          if (error instanceof LeaseGone) this.lapse();
          else this.isInDoubt = true;
        }
        throw error;
      }
    });
    this.queue = task.catch(() => undefined);
    return task;
  }
}

/** Rejects when a connection hangs, so that the next operation can start; a late response is ignored. */
async function withTimeout<T>(response: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the database does not answer')), MAX_RESPONSE_MS);
  });
  try {
    return await Promise.race([response, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
