import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../../kernel';
import { Database } from '../../platform';
import { disputeFact } from './events';
import { PaymentProcessor } from './payment-processor';
import { type Payment, paymentOf, type PaymentRow, Payments } from './payments';

/** A payment on which our books and the processor differ. */
export interface Difference {
  readonly intentId: string;
  readonly payment: Payment | null;
  readonly problem: 'unknown-here' | 'unknown-there' | 'not-credited' | 'amount' | 'refunded' | 'disputed';
  readonly ours: bigint;
  readonly theirs: bigint;
}

export interface Reconciliation {
  /** Later than asked for where the lists are too long to be compared as a whole. */
  readonly since: Date;
  readonly compared: number;
  readonly differences: readonly Difference[];
}

interface ProcessorTotals {
  readonly id: string;
  /** Others may use the same account. */
  readonly isOurs: boolean;
  readonly createdAt: Date;
  readonly receivedCents: bigint;
  readonly refundedCents: bigint;
}

type DisputeFact = NonNullable<ReturnType<typeof disputeFact>>;

type KnownDispute = PaymentRow & {
  disputeId: string | null;
  disputeCents: string | null;
  disputeState: string | null;
};

const MOST_COMPARED = 10_000;

/** Compares our books with the processor's own lists. */
@Injectable()
export class BillingReconciliation {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly payments: Payments,
  ) {}

  /** Compares our payments with the processor's, over so many days. */
  async reconcile(days: number, now = new Date()): Promise<Reconciliation> {
    const begin = new Date(now.getTime() - days * DAY_MS);
    const [told, disputes, ours] = await Promise.all([
      this.told(begin),
      this.disputes(begin),
      this.payments.since(begin, this.processor.isLiveMode, MOST_COMPARED),
    ]);
    const cuts = [told.cutAt, ours.length < MOST_COMPARED ? null : (ours.at(-1)?.createdAt ?? null)];
    const since = cuts.reduce<Date>((latest, cut) => (cut !== null && cut > latest ? cut : latest), begin);
    const theirs = told.totals.filter(({ createdAt }) => createdAt >= since);
    const known = new Map(
      ours.flatMap((payment) => (payment.intentId === null ? [] : [[payment.intentId, payment]])),
    );
    const there = new Map(theirs.map((told) => [told.id, told]));
    const differences = [
      ...theirs.flatMap((told) => differenceOf(told, known.get(told.id) ?? null)),
      ...ours.flatMap((payment) => missingThere(payment, there, since)),
      ...disputes,
    ];
    return { since, compared: new Set([...there.keys(), ...known.keys()]).size, differences };
  }

  /** The newest first; `cutAt` is the time of the last one where there are more. */
  private async told(since: Date): Promise<{ totals: ProcessorTotals[]; cutAt: Date | null }> {
    const intents = await this.processor.call((client) =>
      client.paymentIntents
        .list({
          created: { gte: Math.floor(since.getTime() / 1_000) },
          limit: 100,
          expand: ['data.latest_charge'],
        })
        .autoPagingToArray({ limit: MOST_COMPARED }),
    );
    const last = intents.length < MOST_COMPARED ? undefined : intents.at(-1);
    const totals = intents
      .filter(({ status }) => status === 'succeeded')
      .map(({ id, created, metadata, amount_received: received, latest_charge: charge }) => ({
        id,
        isOurs: metadata['wallet'] !== undefined,
        createdAt: new Date(created * 1_000),
        receivedCents: BigInt(received),
        refundedCents: BigInt(typeof charge === 'object' && charge !== null ? charge.amount_refunded : 0),
      }));
    return { totals, cutAt: last === undefined ? null : new Date(last.created * 1_000) };
  }

  /** Disputes begun in the span, also of older payments. */
  private async disputes(since: Date): Promise<Difference[]> {
    const listed = await this.processor.call((client) =>
      client.disputes
        .list({ created: { gte: Math.floor(since.getTime() / 1_000) }, limit: 100 })
        .autoPagingToArray({ limit: MOST_COMPARED }),
    );
    const facts = listed.flatMap((dispute) => disputeFact({ ...dispute }, 0) ?? []);
    const rows = await this.database.rows<KnownDispute>(
      `SELECT p.*, d.dispute_id, d.amount_cents AS dispute_cents, d.state AS dispute_state
         FROM unnest($1::text[], $2::text[]) AS told(dispute_id, intent_id)
         JOIN payment p ON p.payment_intent_id = told.intent_id
         LEFT JOIN processor_dispute d ON d.dispute_id = told.dispute_id`,
      [facts.map(({ disputeId }) => disputeId), facts.map(({ intentId }) => intentId)],
    );
    return facts.flatMap((fact) => {
      const payments = rows.filter(({ paymentIntentId }) => paymentIntentId === fact.intentId);
      const known = payments.find(({ disputeId }) => disputeId === fact.disputeId) ?? payments[0];
      return known === undefined ? [] : disputeDifference(fact, known);
    });
  }
}

/** A dispute takes its sum, and nothing once it is won. */
const takenBy = (state: string | null, cents: bigint): bigint => (state === 'won' ? 0n : cents);

function disputeDifference(fact: DisputeFact, known: KnownDispute): Difference[] {
  const theirs = takenBy(fact.state, BigInt(fact.amountCents));
  const ours = takenBy(known.disputeState, BigInt(known.disputeCents ?? 0));
  if (ours === theirs) return [];
  return [{ intentId: fact.intentId, payment: paymentOf(known), problem: 'disputed', ours, theirs }];
}

function differenceOf(
  { id, isOurs, receivedCents, refundedCents }: ProcessorTotals,
  payment: Payment | null,
): Difference[] {
  const found = (problem: Difference['problem'], ours: bigint, theirs: bigint): Difference[] => [
    { intentId: id, payment, problem, ours, theirs },
  ];
  if (payment === null) return isOurs ? found('unknown-here', 0n, receivedCents) : [];
  if (payment.state !== 'paid') return found('not-credited', 0n, receivedCents);
  if (payment.grossCents !== receivedCents) return found('amount', payment.grossCents, receivedCents);
  // Some processors do not subtract a failed refund from the charge's total.
  const isKnown = [payment.refundedCents, payment.refundedCents + payment.failedRefundCents].includes(
    refundedCents,
  );
  return isKnown ? [] : found('refunded', payment.refundedCents, refundedCents);
}

/** The processor lists payments by when they were begun: one that took days may be older than its list. */
function missingThere(
  payment: Payment,
  there: ReadonlyMap<string, ProcessorTotals>,
  since: Date,
): Difference[] {
  const { state, intentId, grossCents, createdAt } = payment;
  if (state !== 'paid' || intentId === null || there.has(intentId) || createdAt < since) return [];
  return [{ intentId, payment, problem: 'unknown-there', ours: grossCents, theirs: 0n }];
}
