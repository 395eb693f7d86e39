import { parseArgs } from 'node:util';
import { ActivityLog, changesOf } from '../audit';
import { Ledger, type PostingKind } from '../billing';
import { type PriceOverride, rerate, type RerateDelta, summariseRerate } from '../catalogue';
import { DAY_MS, formatUsd } from '../kernel';
import type { Database, Tx } from '../platform';
import type { CliCommand, CliContext } from './command';
import { commandActor } from './key-entries';
import { withDatabase } from './with-database';

interface RerateSpan {
  readonly from: Date;
  readonly to: Date;
  readonly priceOverride: PriceOverride;
}

export const moneyRerate: CliCommand = {
  usage: 'money:rerate --from DAY --to DAY [--price OLD=NEW …] [--apply]',
  summary:
    'Prices the stored records of a span again. Without --price every stored cost must come out the same; with it, ' +
    'records of one price id are priced by another. Shows the difference, and posts it to the wallets with --apply. ' +
    'The last day is included; an instant in place of a day is the end itself.',
  run(argv, context) {
    const { values } = parseArgs({
      args: argv,
      options: {
        from: { type: 'string' },
        to: { type: 'string' },
        price: { type: 'string', multiple: true, default: [] },
        apply: { type: 'boolean', default: false },
      },
    });
    const span: RerateSpan = {
      from: dayOf(values.from, '--from'),
      to: endOf(values.to, '--to'),
      priceOverride: new Map(values.price.map(replacementOf)),
    };
    return withDatabase((database) => rerateSpan(database, span, values.apply, context), context);
  },
};

async function rerateSpan(
  database: Database,
  span: RerateSpan,
  apply: boolean,
  context: CliContext,
): Promise<number> {
  const summary = await summariseRerate(rerate(database, span));
  for (const [key, delta] of summary.byKey) context.write(lineOf(`key ${key ?? 'unknown'}`, delta));
  for (const [organisation, delta] of summary.byOrganisation)
    context.write(lineOf(`organisation ${organisation ?? 'none'}`, delta));
  context.write(lineOf(`${summary.records} records, ${summary.differences} differ`, summary.deltaNano));
  if (!apply) return summary.differences === 0 || span.priceOverride.size > 0 ? 0 : 1;
  const posted = await applyDeltas(database, span);
  context.write(`posted ${posted} corrections\n`);
  return 0;
}

const day = /^\d{4}-\d{2}-\d{2}$/;
/** Number of postings per transaction, which also has an activity entry per wallet. */
const POSTINGS_PER_BATCH = 200;

interface OwedDelta extends RerateDelta {
  readonly walletId: number;
}

/** Posts one correction per record; the ledger takes each only once, however often this runs. */
async function applyDeltas(database: Database, span: RerateSpan): Promise<number> {
  let posted = 0;
  let batch: OwedDelta[] = [];
  const postBatch = async (): Promise<void> => {
    posted += await postAll(database, batch, span);
    batch = [];
  };
  for await (const delta of rerate(database, span)) {
    if (delta.deltaNano === 0n || delta.walletId === null) continue;
    batch.push({ ...delta, walletId: delta.walletId });
    if (batch.length === POSTINGS_PER_BATCH) await postBatch();
  }
  await postBatch();
  return posted;
}

function postAll(
  database: Database,
  batch: readonly OwedDelta[],
  { priceOverride }: RerateSpan,
): Promise<number> {
  const ledger = new Ledger(database);
  return database.transaction(async (tx) => {
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
      if (await ledger.post(tx, posting)) posted.push(delta);
    }
    for (const [walletId, deltas] of Map.groupBy(posted, (delta) => delta.walletId))
      await recordCorrections(database, tx, walletId, deltas);
    return posted.length;
  });
}

function recordCorrections(
  database: Database,
  tx: Tx,
  walletId: number,
  deltas: readonly RerateDelta[],
): Promise<void> {
  const amount = deltas.reduce((sum, { deltaNano }) => sum - deltaNano, 0n);
  return new ActivityLog(database).write(tx, {
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

const lineOf = (what: string, delta: bigint): string =>
  `${what}: ${delta > 0n ? '+' : ''}${formatUsd(delta)} USD\n`;

/** A day ends with its last moment, so the same day twice is that day. An instant is the end itself. */
function endOf(text: string | undefined, option: string): Date {
  const end = dayOf(text, option);
  return day.test(text ?? '') ? new Date(end.getTime() + DAY_MS) : end;
}

function dayOf(text: string | undefined, option: string): Date {
  const start = new Date(day.test(text ?? '') ? `${text}T00:00:00Z` : (text ?? ''));
  if (Number.isNaN(start.getTime()))
    throw new Error(`${option} takes a day such as 2026-11-01, or an instant in ISO 8601.`);
  return start;
}

function replacementOf(text: string): [number, number] {
  const [, from, to] = /^(\d+)=(\d+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) throw new Error('--price takes OLD=NEW, two price ids.');
  return [Number(from), Number(to)];
}
