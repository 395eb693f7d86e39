import 'reflect-metadata';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * What the bundle itself hands out, for what neither HTTP nor a command can be asked: the verifier's findings as
 * values, and the arithmetic of every amount.
 */
export const artefact = createRequire(__filename)(
  join(__dirname, '..', '..', 'bundle', 'boot', 'commands.js'),
) as Pick<typeof import('../../src/commands/run-command'), 'verifyExport' | 'topUpCents'>;
