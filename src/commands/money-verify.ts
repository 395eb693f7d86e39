import { parseArgs } from 'node:util';
import { type Discrepancy, type MoneyCheck, verifyMoney } from '../billing';
import { mispricedRecords } from '../catalogue';
import type { Database } from '../platform';
import type { Command } from './command';
import { withDatabase } from './with-database';

const MOST_SHOWN = 100;

export const moneyVerify: Command = {
  usage: 'money:verify [--full]',
  summary:
    'Checks that ledger, limits, escrow and request records agree, also while the service runs: what came since the ' +
    'service last found that they do, with --full everything, payments, promotions and prices included.',
  run: (words, context) => {
    const { values } = parseArgs({ args: words, options: { full: { type: 'boolean', default: false } } });
    return withDatabase(async (database) => {
      const { checks } = await verifyMoney(database, values);
      const all = values.full ? [...checks, await priceCheck(database)] : checks;
      for (const { name, wrong } of all) {
        context.write(`${wrong.length === 0 ? 'holds ' : 'BROKEN'}  ${name}\n`);
        for (const discrepancy of wrong) context.write(`        ${JSON.stringify(discrepancy)}\n`);
      }
      const broken = all.filter(({ wrong }) => wrong.length > 0).length;
      context.write(`money:verify: ${all.length - broken} of ${all.length} hold\n`);
      return broken === 0 ? 0 : 1;
    }, context);
  },
};

/** Prices are another module's: billing cannot compare costs with them. */
async function priceCheck(database: Database): Promise<MoneyCheck> {
  const wrong: Discrepancy[] = [];
  for await (const { requestId, storedNano, recomputedNano } of mispricedRecords(database)) {
    const expected = recomputedNano?.toString() ?? 'a price';
    wrong.push({ what: `request ${requestId}`, expected, found: storedNano.toString() });
    if (wrong.length === MOST_SHOWN) break;
  }
  return { name: 'a record costs what its usage does at its price', wrong };
}
