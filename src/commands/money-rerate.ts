import { parseArgs } from 'node:util';
import { rerate, summariseRerate } from '../catalogue';
import { DAY_MS, formatUsd } from '../kernel';
import { Database } from '../platform';
import type { CliCommand } from './command';
import { RerateCorrections, type RerateSpan } from './rerate-corrections';
import { withServices } from './with-services';

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
    return withServices([Database, RerateCorrections], context, async (database, corrections) => {
      const summary = await summariseRerate(rerate(database, span));
      for (const [key, delta] of summary.byKey) context.write(lineOf(`key ${key ?? 'unknown'}`, delta));
      for (const [organisation, delta] of summary.byOrganisation)
        context.write(lineOf(`organisation ${organisation ?? 'none'}`, delta));
      context.write(lineOf(`${summary.records} records, ${summary.differences} differ`, summary.deltaNano));
      if (!values.apply) return summary.differences === 0 || span.priceOverride.size > 0 ? 0 : 1;
      context.write(`posted ${await corrections.post(span)} corrections\n`);
      return 0;
    });
  },
};

const day = /^\d{4}-\d{2}-\d{2}$/;

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
