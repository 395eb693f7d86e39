import { parseArgs } from 'node:util';
import { type Discrepancy, type MoneyCheck, verifyMoney } from '../billing';
import { mispricedRecords } from '../catalogue';
import { Database } from '../platform';
import type { CliCommand } from './command';
import { withServices } from './with-services';

const MAX_LISTED = 100;

export const moneyVerify: CliCommand = {
  usage: 'money:verify [--full]',
  summary:
    'Checks that ledger, limits, escrow and request records agree, also while the service runs: what came since the ' +
    'service last found that they do, with --full everything, payments, promotions and prices included.',
  run: (argv, context) => {
    const { values } = parseArgs({ args: argv, options: { full: { type: 'boolean', default: false } } });
    return withServices([Database], context, async (database) => {
      const { checks } = await verifyMoney(database, values);
      const all = values.full ? [...checks, await priceCheck(database)] : checks;
      for (const { name, wrong } of all) {
        context.write(`${wrong.length === 0 ? 'holds ' : 'BROKEN'}  ${name}\n`);
        for (const discrepancy of wrong) context.write(`        ${JSON.stringify(discrepancy)}\n`);
      }
      const broken = all.filter(({ wrong }) => wrong.length > 0).length;
      context.write(`money:verify: ${all.length - broken} of ${all.length} hold\n`);
      return broken === 0 ? 0 : 1;
    });
  },
};

/** Checked here because billing must not depend on the module that has the prices. */
async function priceCheck(database: Database): Promise<MoneyCheck> {
  const wrong: Discrepancy[] = [];
  for await (const { requestId, storedNano, recomputedNano } of mispricedRecords(database)) {
    const expected = recomputedNano?.toString() ?? 'a price';
    wrong.push({ what: `request ${requestId}`, expected, found: storedNano.toString() });
    if (wrong.length === MAX_LISTED) break;
  }
  return { name: 'a record costs what its usage does at its price', wrong };
}
