import { parseArgs } from 'node:util';
import { coverageOf, readInventory, storedBytesOf, WalArchive, withTarget } from '../../backup';
import { loadSettings } from '../../platform';
import { type CliCommand, UsageError } from '../command';
import { megabytes } from './progress';

export const backupList: CliCommand = {
  usage: 'backup:list [TARGET] [--quick]',
  summary:
    'Lists the backups of a target: when each ended, what it takes, until when its log reaches, when it was verified. ' +
    'Reads the entire log to find damage; --quick reads its newest segments only.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { quick: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new UsageError('Name one target.');
    const settings = loadSettings(context.environment, { createsSecrets: false });
    return withTarget(settings, positionals[0], async ({ target, key }) => {
      const { backups, unfinished, unreadable } = await readInventory(target, key);
      const [problem] = unreadable.values();
      if (backups.length === 0 && problem !== undefined) throw problem;
      const archive = new WalArchive(target, key);
      for (const { manifest, verified } of backups) {
        const coverage = await coverageOf(archive, manifest, values.quick ? 'newest' : 'all');
        const details = [
          ...coverageTexts(manifest.endedAt, coverage?.until ?? null),
          megabytes(storedBytesOf(manifest)),
          verified === null ? 'not verified' : `verified ${verified.at}`,
          ...(coverage?.gap
            ? [`the log is complete to there: ${coverage.gap.segment} ${coverage.gap.problem}`]
            : []),
        ];
        context.write(`${manifest.id}  ${details.join(', ')}\n`);
      }
      for (const { message } of unreadable.values()) context.write(`${message}\n`);
      for (const id of unfinished.keys()) context.write(`${id}  not finished\n`);
      context.write(`backup:list: ${backups.length} in ${target.location}, key ${key.fingerprint}\n`);
      return 0;
    });
  },
};

function coverageTexts(endedAt: string, until: Date | null): string[] {
  if (until === null) return [`from ${endedAt}`, 'files only'];
  if (until < new Date(endedAt)) return [`as of ${until.toISOString()}, without a log`];
  return [`from ${endedAt}`, `to ${until.toISOString()}`];
}
