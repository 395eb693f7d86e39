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
  type Row,
  type Tx,
} from '../../platform';
import { BillingMails } from './billing-mails';
import { Cards } from './cards';
import type { Fact, ProcessorEvent } from './events';
import { type Applied, isOfStranger, PaymentFacts, type Problem } from './payment-facts';
import { PaymentProcessor } from './payment-processor';
import type { Payment } from './payments';

export type EventOutcome = 'applied' | 'ignored' | 'quarantined' | 'repeated';

const QUARANTINED = 'event_id, type, received_at';

export interface QuarantinedEvent extends Row<'processor_event', typeof QUARANTINED> {
  readonly problem: Problem;
  readonly fact: Fact | null;
}

interface Entered {
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

/** Every event is processed once: its row and its effects share a transaction. */
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
    const entered = await this.database
      .transaction((tx) => this.enter(tx, event), { attempts: 3 })
      .catch((error: unknown) => {
        this.metrics.webhookEvents.inc({ type, outcome: 'failed' });
        throw error;
      });
    this.metrics.webhookEvents.inc({ type, outcome: entered.outcome });
    if (entered.outcome === 'applied' && event.fact !== null)
      await this.afterwards(event.fact, entered.payment);
    return entered.outcome;
  }

  /** It returns the events of a list that never arrived here. */
  async unknownOf(events: readonly ProcessorEvent[]): Promise<ProcessorEvent[]> {
    const rows = await this.database.rows<Row<'processor_event', 'event_id'>>(
      'SELECT event_id FROM processor_event WHERE event_id = ANY ($1)',
      [events.map(({ id }) => id)],
    );
    const known = new Set(rows.map(({ eventId }) => eventId));
    return events.filter(({ id }) => !known.has(id));
  }

  /**
   * Facts from an answer of the processor need no inbox: asking again returns the same. One that contradicts us waits
   * in quarantine, once.
   */
  async learn(fact: Fact): Promise<void> {
    if (fact.kind === 'cards') return this.afterwards(fact, null);
    const { payment, problem } = await this.database.transaction(
      async (tx) => {
        const applied = await this.facts.apply(tx, fact);
        if (applied.problem !== null && !isForeign(fact, applied))
          await this.quarantine(tx, fact, applied.problem, applied.payment);
        return applied;
      },
      { attempts: 3 },
    );
    if (problem === null) await this.afterwards(fact, payment);
  }

  /** The newest first. */
  async quarantined(request: PageRequest): Promise<Page<QuarantinedEvent>> {
    const keyset = newestFirst.clause(request, 1);
    const rows = await this.database.rows<QuarantinedEvent>(
      `SELECT ${QUARANTINED}, problem, fact, ${newestFirst.positions} FROM processor_event
        WHERE outcome = 'quarantined' AND resolved_at IS NULL AND ${keyset.where}
        ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
      [...keyset.parameters],
    );
    return newestFirst.page(rows, request);
  }

  /** An operator sets it: the event is tried once more, or dismissed for good. */
  async resolve(
    eventId: string,
    how: 'retry' | 'dismiss',
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
      const again = how === 'retry' && fact !== null && fact.kind !== 'cards' && row.problem !== 'mode';
      const applied = again ? await this.facts.apply(tx, fact) : null;
      if (how === 'retry' && applied?.problem !== null) {
        throw fault('conflict', {
          message: 'The event still contradicts what is known. It stays in quarantine.',
        });
      }
      await tx.query(
        `UPDATE processor_event SET resolved_at = clock_timestamp(), resolved_by = $2, resolution = $3,
                outcome = $4, payment_id = coalesce($5, payment_id) WHERE event_id = $1`,
        [eventId, userId, reason, how === 'retry' ? 'applied' : 'quarantined', applied?.payment?.id ?? null],
      );
      await this.activity.write(tx, {
        action: 'billing.event-resolved',
        object: { type: 'payment', id: eventId, label: row.type },
        changes: { quarantine: [row.problem, how] },
        reason,
        ...(actor === undefined ? {} : { actor }),
      });
      return how === 'retry' ? 'applied' : 'quarantined';
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
        `asked_${idOf(fact)}_${problem}`,
        `asked.${fact.kind}`,
        fact.intentId,
        JSON.stringify(fact),
        problem,
        payment?.id ?? null,
      ],
    );
  }

  private async enter(tx: Tx, { id, type, live, fact }: ProcessorEvent): Promise<Entered> {
    const entered = await tx.query<object[]>(
      `INSERT INTO processor_event (event_id, type, payment_intent_id, fact) VALUES ($1, $2, $3, $4)
       ON CONFLICT (event_id) DO NOTHING RETURNING event_id`,
      [id, type, intentOf(fact), fact === null ? null : JSON.stringify({ ...fact, live })],
    );
    if (entered.length === 0) return { outcome: 'repeated', problem: null, payment: null };
    const done = await this.act(tx, live, fact);
    await tx.query(
      'UPDATE processor_event SET outcome = $2, problem = $3, payment_id = $4 WHERE event_id = $1',
      [id, done.outcome, done.problem, done.payment?.id ?? null],
    );
    return done;
  }

  private async act(tx: Tx, live: boolean, fact: Fact | null): Promise<Entered> {
    if (fact === null) return { outcome: 'ignored', problem: null, payment: null };
    if (live !== this.processor.isLiveMode) return { outcome: 'quarantined', problem: 'mode', payment: null };
    if (fact.kind === 'cards') return { outcome: 'applied', problem: null, payment: null };
    const applied = await this.facts.apply(tx, fact);
    const { payment, problem } = applied;
    if (isForeign(fact, applied)) return { outcome: 'ignored', problem, payment };
    return { outcome: problem === null ? 'applied' : 'quarantined', problem, payment };
  }

  /** A payment may have saved a card; a failed automatic one is reported by mail. */
  private async afterwards(fact: Fact, payment: Payment | null): Promise<void> {
    if (fact.kind === 'charge' || fact.kind === 'refund' || fact.kind === 'dispute') return;
    const isRefused = fact.kind === 'intent' && fact.state === 'refused';
    if (isRefused && payment?.kind === 'automatic' && payment.state === 'failed') {
      await this.mails.automaticTopUpFailed(payment.walletId, payment.publicId, payment.failureCode ?? '');
    }
    const mayHaveCard = fact.kind === 'cards' || fact.state === 'paid';
    if (mayHaveCard && fact.customerId !== null) await this.cards.refreshOf(fact.customerId);
  }
}

/**
 * The fact is about a payment that is not ours, as where others use the same account: no operator can do anything about
 * it. A refund or dispute that comes before its payment is applied with it. A refused charge moves no money.
 */
function isForeign(fact: Fact, { payment, problem }: Applied): boolean {
  if (payment !== null || problem !== 'payment') return false;
  if (fact.kind === 'intent' && fact.state === 'refused') return true;
  return isOfStranger(fact) || fact.kind === 'refund' || fact.kind === 'dispute' || fact.kind === 'charge';
}

/** It is the id of what was asked for at the processor. */
function idOf(fact: Exclude<Fact, { kind: 'cards' }>): string {
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
