import { parseArgs } from 'node:util';
import { pruneBackups, withTarget } from '../../backup';
import { loadSettings } from '../../platform';
import { type CliCommand, UsageError } from '../command';

export const backupPrune: CliCommand = {
  usage: 'backup:prune [TARGET] [--dry-run]',
  summary:
    'Removes what no moment of the last BACKUP_KEEP needs: backups, their log, and what tries left that were broken ' +
    'off. The newest backup and the newest verified one always stay. --dry-run only says what would go.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { 'dry-run': { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new UsageError('Name one target.');
    const settings = loadSettings(context.environment, { createsSecrets: false });
    const isTrial = values['dry-run'];
    return withTarget(settings, positionals[0], async (opened) => {
      const pruned = await pruneBackups({
        ...opened,
        keepMs: settings.backupKeepMs,
        now: new Date(),
        isTrial,
      });
      for (const id of pruned.backups) context.write(`${isTrial ? 'would go' : 'removed'}  ${id}\n`);
      for (const id of pruned.unfinished)
        context.write(`${isTrial ? 'would go' : 'removed'}  ${id}, never finished\n`);
      context.write(
        `backup:prune: ${pruned.kept.length} backups stay, ${pruned.backups.length} ${isTrial ? 'would go' : 'went'}, ` +
          `with ${pruned.segments} segments of the log\n`,
      );
      return 0;
    });
  },
};
