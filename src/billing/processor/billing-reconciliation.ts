import { Injectable } from '@nestjs/common';
import { DAY_MS } from '../../kernel';
import { Database } from '../../platform';
import { disputeFact } from './events';
import { PaymentProcessor } from './payment-processor';
import { type Payment, paymentOf, type PaymentRow, Payments } from './payments';

export interface PaymentDifference {
  readonly intentId: string;
  readonly payment: Payment | null;
  readonly problem: 'unknown-here' | 'unknown-there' | 'not-credited' | 'amount' | 'refunded' | 'disputed';
  readonly ours: bigint;
  readonly theirs: bigint;
}

export interface PaymentReconciliation {
  /** Later than requested if the lists are too long to be compared completely. */
  readonly since: Date;
  readonly compared: number;
  readonly differences: readonly PaymentDifference[];
}

interface ProcessorTotals {
  readonly id: string;
  /** False for payments of other applications on the same account. */
  readonly isOurs: boolean;
  readonly createdAt: Date;
  readonly receivedCents: bigint;
  readonly refundedCents: bigint;
}

type DisputeFact = NonNullable<ReturnType<typeof disputeFact>>;

type DisputedPaymentRow = PaymentRow & {
  disputeId: string | null;
  disputeCents: string | null;
  disputeState: string | null;
};

const MAX_COMPARED = 10_000;

@Injectable()
export class BillingReconciliation {
  constructor(
    private readonly database: Database,
    private readonly processor: PaymentProcessor,
    private readonly payments: Payments,
  ) {}

  async reconcile(days: number, now = new Date()): Promise<PaymentReconciliation> {
    const requestedSince = new Date(now.getTime() - days * DAY_MS);
    const [listing, disputes, ours] = await Promise.all([
      this.listPayments(requestedSince),
      this.compareDisputes(requestedSince),
      this.payments.listSince(requestedSince, this.processor.isLiveMode, MAX_COMPARED),
    ]);
    const cutTimes = [listing.cutAt, ours.length < MAX_COMPARED ? null : (ours.at(-1)?.createdAt ?? null)];
    const since = cutTimes.reduce<Date>(
      (latest, cut) => (cut !== null && cut > latest ? cut : latest),
      requestedSince,
    );
    const theirs = listing.totals.filter(({ createdAt }) => createdAt >= since);
    const ownById = new Map(
      ours.flatMap((payment) => (payment.intentId === null ? [] : [[payment.intentId, payment]])),
    );
    const theirsById = new Map(theirs.map((totals) => [totals.id, totals]));
    const differences = [
      ...theirs.flatMap((totals) => differenceOf(totals, ownById.get(totals.id) ?? null)),
      ...ours.flatMap((payment) => missingThere(payment, theirsById, since)),
      ...disputes,
    ];
    return { since, compared: new Set([...theirsById.keys(), ...ownById.keys()]).size, differences };
  }

  /** Lists the newest payments first; `cutAt` is the time of the last one if there are more. */
  private async listPayments(since: Date): Promise<{ totals: ProcessorTotals[]; cutAt: Date | null }> {
    const intents = await this.processor.call((client) =>
      client.paymentIntents
        .list({
          created: { gte: Math.floor(since.getTime() / 1_000) },
          limit: 100,
          expand: ['data.latest_charge'],
        })
        .autoPagingToArray({ limit: MAX_COMPARED }),
    );
    const last = intents.length < MAX_COMPARED ? undefined : intents.at(-1);
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

  private async compareDisputes(since: Date): Promise<PaymentDifference[]> {
    const disputes = await this.processor.call((client) =>
      client.disputes
        .list({ created: { gte: Math.floor(since.getTime() / 1_000) }, limit: 100 })
        .autoPagingToArray({ limit: MAX_COMPARED }),
    );
    const facts = disputes.flatMap((dispute) => disputeFact({ ...dispute }, 0) ?? []);
    const rows = await this.database.rows<DisputedPaymentRow>(
      `SELECT p.*, d.dispute_id, d.amount_cents AS dispute_cents, d.state AS dispute_state
         FROM unnest($1::text[], $2::text[]) AS told(dispute_id, intent_id)
         JOIN payment p ON p.payment_intent_id = told.intent_id
         LEFT JOIN processor_dispute d ON d.dispute_id = told.dispute_id`,
      [facts.map(({ disputeId }) => disputeId), facts.map(({ intentId }) => intentId)],
    );
    return facts.flatMap((fact) => {
      const payments = rows.filter(({ paymentIntentId }) => paymentIntentId === fact.intentId);
      const match = payments.find(({ disputeId }) => disputeId === fact.disputeId) ?? payments[0];
      return match === undefined ? [] : disputeDifference(fact, match);
    });
  }
}

/** A dispute takes its amount, or nothing once it is won. */
const disputedCents = (state: string | null, cents: bigint): bigint => (state === 'won' ? 0n : cents);

function disputeDifference(fact: DisputeFact, row: DisputedPaymentRow): PaymentDifference[] {
  const theirs = disputedCents(fact.state, BigInt(fact.amountCents));
  const ours = disputedCents(row.disputeState, BigInt(row.disputeCents ?? 0));
  if (ours === theirs) return [];
  return [{ intentId: fact.intentId, payment: paymentOf(row), problem: 'disputed', ours, theirs }];
}

function differenceOf(
  { id, isOurs, receivedCents, refundedCents }: ProcessorTotals,
  payment: Payment | null,
): PaymentDifference[] {
  const difference = (
    problem: PaymentDifference['problem'],
    ours: bigint,
    theirs: bigint,
  ): PaymentDifference[] => [{ intentId: id, payment, problem, ours, theirs }];
  if (payment === null) return isOurs ? difference('unknown-here', 0n, receivedCents) : [];
  if (payment.state !== 'paid') return difference('not-credited', 0n, receivedCents);
  if (payment.grossCents !== receivedCents) return difference('amount', payment.grossCents, receivedCents);
  // Some processors do not subtract a failed refund from the charge's total.
  const isExpected = [payment.refundedCents, payment.refundedCents + payment.failedRefundCents].includes(
    refundedCents,
  );
  return isExpected ? [] : difference('refunded', payment.refundedCents, refundedCents);
}

/** The processor lists payments by their start: a payment that took days might be older than its list. */
function missingThere(
  payment: Payment,
  theirsById: ReadonlyMap<string, ProcessorTotals>,
  since: Date,
): PaymentDifference[] {
  const { state, intentId, grossCents, createdAt } = payment;
  if (state !== 'paid' || intentId === null || theirsById.has(intentId) || createdAt < since) return [];
  return [{ intentId, payment, problem: 'unknown-there', ours: grossCents, theirs: 0n }];
}
