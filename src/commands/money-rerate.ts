import { parseArgs } from 'node:util';
import { Ledger } from '../billing';
import { type PriceOverride, rerate, type RerateDelta, summariseRerate } from '../catalogue';
import { formatUsd } from '../kernel';
import { Database } from '../platform';
import type { Command, CommandContext } from './command';
import { withDatabase } from './with-database';

interface Span {
  readonly from: Date;
  readonly to: Date;
  readonly priceOverride: PriceOverride;
}

export const moneyRerate: Command = {
  usage: 'money:rerate --from DAY --to DAY [--price OLD=NEW …] [--apply]',
  summary:
    'Prices the stored records of a span again. Without --price every stored cost must come out the same; with it, ' +
    'records of one price id are priced by another. Shows the difference, and posts it to the wallets with --apply.',
  run(words, context) {
    const { values } = parseArgs({
      args: words,
      options: {
        from: { type: 'string' },
        to: { type: 'string' },
        price: { type: 'string', multiple: true, default: [] },
        apply: { type: 'boolean', default: false },
      },
    });
    const span: Span = {
      from: dayOf(values.from, '--from'),
      to: dayOf(values.to, '--to'),
      priceOverride: new Map(values.price.map(replacementOf)),
    };
    return withDatabase((database) => rerateSpan(database, span, values.apply, context), context);
  },
};

async function rerateSpan(
  database: Database,
  span: Span,
  apply: boolean,
  context: CommandContext,
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

/** One posting a record, which the ledger takes once however often this runs. */
async function applyDeltas(database: Database, span: Span): Promise<number> {
  const ledger = new Ledger(database);
  let posted = 0;
  for await (const delta of rerate(database, span)) {
    if (delta.deltaNano === 0n || delta.walletId === null) continue;
    if (await postDelta(database, ledger, delta, delta.walletId, span)) posted += 1;
  }
  return posted;
}

function postDelta(
  database: Database,
  ledger: Ledger,
  delta: RerateDelta,
  walletId: number,
  { priceOverride }: Span,
): Promise<boolean> {
  const price = priceOverride.get(delta.priceId ?? 0) ?? delta.priceId;
  return database.transaction((tx) =>
    ledger.post(tx, {
      walletId,
      amount: -delta.deltaNano,
      against: 'adjustment',
      kind: 'rerate',
      ref: `${delta.requestId}:${price}`,
    }),
  );
}

const lineOf = (what: string, delta: bigint): string =>
  `${what}: ${delta > 0n ? '+' : ''}${formatUsd(delta)} USD\n`;

function dayOf(text: string | undefined, option: string): Date {
  const day = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text ?? '') ? `${text}T00:00:00Z` : (text ?? ''));
  if (Number.isNaN(day.getTime()))
    throw new Error(`${option} takes a day such as 2026-11-01, or an instant in ISO 8601.`);
  return day;
}

function replacementOf(text: string): [number, number] {
  const [, from, to] = /^(\d+)=(\d+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) throw new Error('--price takes OLD=NEW, two price ids.');
  return [Number(from), Number(to)];
}
