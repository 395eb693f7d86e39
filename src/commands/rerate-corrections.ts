import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../audit';
import { Ledger, type PostingKind } from '../billing';
import { type PriceOverride, rerate, type RerateDelta } from '../catalogue';
import { formatUsd } from '../kernel';
import { Database, type Tx } from '../platform';
import { commandActor } from './command';

export interface RerateSpan {
  readonly from: Date;
  readonly to: Date;
  readonly priceOverride: PriceOverride;
}

/** Number of postings per transaction, which also has an activity entry per wallet. */
const POSTINGS_PER_BATCH = 200;

interface OwedDelta extends RerateDelta {
  readonly walletId: number;
}

/** Posts the differences that pricing the records of a span again has found. */
@Injectable()
export class RerateCorrections {
  constructor(
    private readonly database: Database,
    private readonly ledger: Ledger,
    private readonly activity: ActivityLog,
  ) {}

  /** Posts one correction per record; the ledger takes each only once, however often this runs. */
  async post(span: RerateSpan): Promise<number> {
    let posted = 0;
    let batch: OwedDelta[] = [];
    const postBatch = async (): Promise<void> => {
      posted += await this.postBatch(batch, span);
      batch = [];
    };
    for await (const delta of rerate(this.database, span)) {
      if (delta.deltaNano === 0n || delta.walletId === null) continue;
      batch.push({ ...delta, walletId: delta.walletId });
      if (batch.length === POSTINGS_PER_BATCH) await postBatch();
    }
    await postBatch();
    return posted;
  }

  private postBatch(batch: readonly OwedDelta[], { priceOverride }: RerateSpan): Promise<number> {
    return this.database.transaction(async (tx) => {
      const posted: OwedDelta[] = [];
      // Wallets are posted in a fixed order, so that two concurrent runs cannot deadlock.
      for (const delta of batch.toSorted((a, b) => a.walletId - b.walletId)) {
        const price = priceOverride.get(delta.priceId ?? 0) ?? delta.priceId;
        const posting = {
          walletId: delta.walletId,
          amount: -delta.deltaNano,
          against: 'adjustment',
          kind: 'rerate' satisfies PostingKind,
          ref: `${delta.requestId}:${price}`,
        } as const;
        if (await this.ledger.post(tx, posting)) posted.push(delta);
      }
      for (const [walletId, deltas] of Map.groupBy(posted, (delta) => delta.walletId))
        await this.record(tx, walletId, deltas);
      return posted.length;
    });
  }

  private record(tx: Tx, walletId: number, deltas: readonly RerateDelta[]): Promise<void> {
    const amount = deltas.reduce((sum, { deltaNano }) => sum - deltaNano, 0n);
    return this.activity.write(tx, {
      action: 'billing.rerated',
      object: { type: 'account', id: walletId },
      concerns: { userId: walletId, organisationId: deltas[0]?.organisationId ?? null },
      changes: changesOf(null, {
        amount_usd: formatUsd(amount),
        requests: deltas.length,
        first_request: deltas[0]?.requestId,
        last_request: deltas.at(-1)?.requestId,
      }),
      actor: commandActor,
    });
  }
}
