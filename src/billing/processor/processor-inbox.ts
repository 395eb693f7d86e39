import { Injectable } from '@nestjs/common';
import { type ActivityActor, ActivityLog } from '../../audit';
import { fault } from '../../kernel';
import {
  Database,
  Keyset,
  Metrics,
  type Page,
  type PageRequest,
  readRows,
  type TableRow,
  type Tx,
} from '../../platform';
import { BillingMails } from './billing-mails';
import { Cards } from './cards';
import type { Fact, ProcessorEvent } from './events';
import { type AppliedFact, isOfOtherApplication, PaymentFacts, type Problem } from './payment-facts';
import { PaymentProcessor } from './payment-processor';
import type { Payment } from './payments';

export type EventOutcome = 'applied' | 'ignored' | 'quarantined' | 'repeated';

const QUARANTINED = 'event_id, type, received_at';

export interface QuarantinedEvent extends TableRow<'processor_event', typeof QUARANTINED> {
  readonly problem: Problem;
  readonly fact: Fact | null;
}

interface ProcessedEvent {
  readonly outcome: EventOutcome;
  readonly problem: Problem | null;
  readonly payment: Payment | null;
}

const newestFirst = new Keyset(
  [
    { sql: 'received_at', kind: 'instant' },
    { sql: 'event_id', kind: 'text' },
  ],
  'descending',
);

/** Processes every event once: its row and its effects share a transaction. */
@Injectable()
export class ProcessorInbox {
  constructor(
    private readonly database: Database,
    private readonly facts: PaymentFacts,
    private readonly cards: Cards,
    private readonly processor: PaymentProcessor,
    private readonly mails: BillingMails,
    private readonly activity: ActivityLog,
    private readonly metrics: Metrics,
  ) {}

  async receive(event: ProcessorEvent): Promise<EventOutcome> {
    const { type } = event;
    const processed = await this.database
      .transaction((tx) => this.processEvent(tx, event), { attempts: 3 })
      .catch((error: unknown) => {
        this.metrics.webhookEvents.inc({ type, outcome: 'failed' });
        throw error;
      });
    this.metrics.webhookEvents.inc({ type, outcome: processed.outcome });
    if (processed.outcome === 'applied' && event.fact !== null)
      await this.followUp(event.fact, processed.payment);
    return processed.outcome;
  }

  async findMissing(events: readonly ProcessorEvent[]): Promise<ProcessorEvent[]> {
    const rows = await this.database.rows<TableRow<'processor_event', 'event_id'>>(
      'SELECT event_id FROM processor_event WHERE event_id = ANY ($1)',
      [events.map(({ id }) => id)],
    );
    const knownIds = new Set(rows.map(({ eventId }) => eventId));
    return events.filter(({ id }) => !knownIds.has(id));
  }

  /**
   * Applies a fact from a response of the processor. No inbox row is needed, because calling again returns the same; a
   * contradicting fact is quarantined once.
   */
  async applyFact(fact: Fact): Promise<void> {
    if (fact.kind === 'cards') return this.followUp(fact, null);
    const { payment, problem } = await this.database.transaction(
      async (tx) => {
        const applied = await this.facts.apply(tx, fact);
        if (applied.problem !== null && !isForeign(fact, applied))
          await this.quarantine(tx, fact, applied.problem, applied.payment);
        return applied;
      },
      { attempts: 3 },
    );
    if (problem === null) await this.followUp(fact, payment);
  }

  async listQuarantined(request: PageRequest): Promise<Page<QuarantinedEvent>> {
    const keyset = newestFirst.clause(request, 1);
    const rows = await this.database.rows<QuarantinedEvent>(
      `SELECT ${QUARANTINED}, problem, fact, ${newestFirst.positions} FROM processor_event
        WHERE outcome = 'quarantined' AND resolved_at IS NULL AND ${keyset.where}
        ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
      [...keyset.parameters],
    );
    return newestFirst.page(rows, request);
  }

  /** Resolves a quarantined event for an operator: retried once, or dismissed permanently. */
  async resolve(
    eventId: string,
    resolution: 'retry' | 'dismiss',
    { reason, userId, actor }: { reason: string; userId: number; actor?: ActivityActor },
  ): Promise<EventOutcome> {
    return this.database.transaction(async (tx) => {
      const [row] = await readRows<QuarantinedEvent>(
        tx,
        `SELECT ${QUARANTINED}, problem, fact FROM processor_event
          WHERE event_id = $1 AND outcome = 'quarantined' AND resolved_at IS NULL FOR UPDATE`,
        [eventId],
      );
      if (row === undefined) throw fault('not_found');
      const { fact } = row;
      const shouldRetry =
        resolution === 'retry' && fact !== null && fact.kind !== 'cards' && row.problem !== 'mode';
      const applied = shouldRetry ? await this.facts.apply(tx, fact) : null;
      if (resolution === 'retry' && applied?.problem !== null) {
        throw fault('conflict', {
          message: 'The event still contradicts what is known. It stays in quarantine.',
        });
      }
      await tx.query(
        `UPDATE processor_event SET resolved_at = clock_timestamp(), resolved_by = $2, resolution = $3,
                outcome = $4, payment_id = coalesce($5, payment_id) WHERE event_id = $1`,
        [
          eventId,
          userId,
          reason,
          resolution === 'retry' ? 'applied' : 'quarantined',
          applied?.payment?.id ?? null,
        ],
      );
      await this.activity.write(tx, {
        action: 'billing.event-resolved',
        object: { type: 'payment', id: eventId, label: row.type },
        changes: { quarantine: [row.problem, resolution] },
        reason,
        ...(actor === undefined ? {} : { actor }),
      });
      return resolution === 'retry' ? 'applied' : 'quarantined';
    });
  }

  private async quarantine(
    tx: Tx,
    fact: Exclude<Fact, { kind: 'cards' }>,
    problem: Problem,
    payment: Payment | null,
  ): Promise<void> {
    await tx.query(
      `INSERT INTO processor_event (event_id, type, payment_intent_id, fact, outcome, problem, payment_id)
       VALUES ($1, $2, $3, $4, 'quarantined', $5, $6) ON CONFLICT (event_id) DO NOTHING`,
      [
        `asked_${processorIdOf(fact)}_${problem}`,
        `asked.${fact.kind}`,
        fact.intentId,
        JSON.stringify(fact),
        problem,
        payment?.id ?? null,
      ],
    );
  }

  private async processEvent(tx: Tx, { id, type, live, fact }: ProcessorEvent): Promise<ProcessedEvent> {
    const inserted = await tx.query<object[]>(
      `INSERT INTO processor_event (event_id, type, payment_intent_id, fact) VALUES ($1, $2, $3, $4)
       ON CONFLICT (event_id) DO NOTHING RETURNING event_id`,
      [id, type, intentOf(fact), fact === null ? null : JSON.stringify({ ...fact, live })],
    );
    if (inserted.length === 0) return { outcome: 'repeated', problem: null, payment: null };
    const processed = await this.processFact(tx, live, fact);
    await tx.query(
      'UPDATE processor_event SET outcome = $2, problem = $3, payment_id = $4 WHERE event_id = $1',
      [id, processed.outcome, processed.problem, processed.payment?.id ?? null],
    );
    return processed;
  }

  private async processFact(tx: Tx, live: boolean, fact: Fact | null): Promise<ProcessedEvent> {
    if (fact === null) return { outcome: 'ignored', problem: null, payment: null };
    if (live !== this.processor.isLiveMode) return { outcome: 'quarantined', problem: 'mode', payment: null };
    if (fact.kind === 'cards') return { outcome: 'applied', problem: null, payment: null };
    const applied = await this.facts.apply(tx, fact);
    const { payment, problem } = applied;
    if (isForeign(fact, applied)) return { outcome: 'ignored', problem, payment };
    return { outcome: problem === null ? 'applied' : 'quarantined', problem, payment };
  }

  /** Refreshes cards, since a payment might have saved one; reports a failed automatic payment by email. */
  private async followUp(fact: Fact, payment: Payment | null): Promise<void> {
    if (fact.kind === 'charge' || fact.kind === 'refund' || fact.kind === 'dispute') return;
    const isRefused = fact.kind === 'intent' && fact.state === 'refused';
    if (isRefused && payment?.kind === 'automatic' && payment.state === 'failed') {
      await this.mails.automaticTopUpFailed(payment.walletId, payment.publicId, payment.failureCode ?? '');
    }
    const mightHaveCard = fact.kind === 'cards' || fact.state === 'paid';
    if (mightHaveCard && fact.customerId !== null) await this.cards.refreshCustomer(fact.customerId);
  }
}

/**
 * Returns whether the fact is about another application's payment on the same account, which operators cannot resolve.
 * A refund or dispute that precedes its payment is applied with it; a refused charge moves no money.
 */
function isForeign(fact: Fact, { payment, problem }: AppliedFact): boolean {
  if (payment !== null || problem !== 'payment') return false;
  if (fact.kind === 'intent' && fact.state === 'refused') return true;
  return (
    isOfOtherApplication(fact) || fact.kind === 'refund' || fact.kind === 'dispute' || fact.kind === 'charge'
  );
}

function processorIdOf(fact: Exclude<Fact, { kind: 'cards' }>): string {
  switch (fact.kind) {
    case 'session':
      return fact.sessionId;
    case 'refund':
      return fact.refundId;
    case 'dispute':
      return fact.disputeId;
    case 'intent':
    case 'charge':
      return fact.intentId;
  }
}

const intentOf = (fact: Fact | null): string | null =>
  fact === null || fact.kind === 'cards' ? null : fact.intentId;
