import 'reflect-metadata';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * What the bundle itself hands out, for what neither HTTP nor a command can be asked: the verifier's findings as
 * values, the arithmetic of every amount, and the money engine under holds and charges that a proof chooses.
 */
export const artefact = createRequire(__filename)(
  join(__dirname, '..', '..', 'bundle', 'boot', 'commands.js'),
) as Pick<
  typeof import('../../src/commands/run-command'),
  | 'verifyExport'
  | 'topUpCents'
  | 'MoneyEngine'
  | 'PostgresMoneyStore'
  | 'applicationUrl'
  | 'Database'
  | 'Notifications'
  | 'Logger'
>;
