import { parseArgs } from 'node:util';
import { coverageOf, inventory, storedBytesOf, withTarget } from '../../backup';
import { loadSettings } from '../../platform';
import { type Command, UsageError } from '../command';
import { megabytes } from './said';

export const backupList: Command = {
  usage: 'backup:list [TARGET]',
  summary:
    'Lists the backups of a target: when each ended, what it takes, until when its log reaches, when it was verified.',
  run(words, context) {
    const { positionals } = parseArgs({ args: words, allowPositionals: true });
    if (positionals.length > 1) throw new UsageError('Name one target.');
    const settings = loadSettings(context.environment, { makesSecrets: false });
    return withTarget(settings, positionals[0], async ({ target, key }) => {
      const { backups, unfinished } = await inventory(target, key);
      for (const { manifest, verified } of backups) {
        const coverage = await coverageOf(target, key, manifest);
        const facts = [
          `from ${manifest.endedAt}`,
          ...(coverage === null ? ['files only'] : [`to ${coverage.until.toISOString()}`]),
          megabytes(storedBytesOf(manifest)),
          verified === null ? 'not verified' : `verified ${verified.at}`,
          ...(coverage?.hole ? [`the log lacks ${coverage.hole}`] : []),
        ];
        context.write(`${manifest.id}  ${facts.join(', ')}\n`);
      }
      for (const id of unfinished.keys()) context.write(`${id}  not finished\n`);
      context.write(`backup:list: ${backups.length} in ${target.place}, key ${key.fingerprint}\n`);
      return 0;
    });
  },
};
