import { parseArgs } from 'node:util';
import { verifyMoney } from '../billing';
import type { Command } from './command';
import { withDatabase } from './with-database';

export const moneyVerify: Command = {
  usage: 'money:verify [--full]',
  summary:
    'Checks that ledger, limits, escrow and request records agree, also while the service runs: what came since the ' +
    'service last found that they do, with --full everything.',
  run: (words, context) => {
    const { values } = parseArgs({ args: words, options: { full: { type: 'boolean', default: false } } });
    return withDatabase(async (database) => {
      const { checks } = await verifyMoney(database, values);
      for (const { name, wrong } of checks) {
        context.write(`${wrong.length === 0 ? 'holds ' : 'BROKEN'}  ${name}\n`);
        for (const discrepancy of wrong) context.write(`        ${JSON.stringify(discrepancy)}\n`);
      }
      const broken = checks.filter(({ wrong }) => wrong.length > 0).length;
      context.write(`money:verify: ${checks.length - broken} of ${checks.length} hold\n`);
      return broken === 0 ? 0 : 1;
    }, context);
  },
};
