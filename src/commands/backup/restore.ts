import { parseArgs } from 'node:util';
import { chooseBackup, restoreBackup, withTarget } from '../../backup';
import { loadSettings } from '../../platform';
import { type CliCommand, type CliContext, UsageError } from '../command';
import { progressTo } from './progress';

export const restore: CliCommand = {
  usage: 'restore [TARGET] --into FOLDER [--at TIME] [--id BACKUP]',
  summary:
    'Restores an installation into an empty data folder: to the newest moment, or to TIME, such as ' +
    '2026-11-27T03:15:00Z. The target is only read. A restored installation starts quarantined.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { into: { type: 'string' }, at: { type: 'string' }, id: { type: 'string' } },
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new UsageError('Name one target.');
    const { into } = values;
    if (into === undefined) throw new UsageError('Name the folder to restore into: --into FOLDER.');
    const settings = loadSettings(context.environment, { createsSecrets: false });
    return withTarget(settings, positionals[0], async (opened) => {
      const choice = await chooseBackup(opened.target, opened.key, choiceOf(values));
      context.writeStderr(`Backup: ${choice.manifest.id} of ${choice.manifest.product}\n`);
      const restored = await restoreBackup({
        ...opened,
        ...choice,
        into,
        progress: progressTo(context),
      });
      if (choice.manifest.cluster === null) context.write(filesOnlyText(into, restored.moment));
      else
        context.write(
          `restore: ${into} is as of ${restored.moment.toISOString()}; its last transaction is of ` +
            `${restored.lastTransaction?.toISOString() ?? 'before the backup'}.\n`,
        );
      adviseSecrets(context);
      return 0;
    });
  },
};

export function choiceOf({ at, id }: { at?: string | undefined; id?: string | undefined }): {
  at?: Date;
  id?: string;
} {
  const moment = parseTime(at);
  return { ...(moment === undefined ? {} : { at: moment }), ...(id === undefined ? {} : { id }) };
}

/** Without a zone, a time would differ between machines. */
function parseTime(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const isComplete = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:?\d\d)$/.test(text);
  const time = new Date(text);
  if (isComplete && !Number.isNaN(time.getTime())) return time;
  throw new UsageError(`"${text}" is no time with its zone, such as 2026-11-27T03:15:00Z.`);
}

const filesOnlyText = (into: string, moment: Date): string =>
  `restore: ${into} has the files of ${moment.toISOString()}. The database was a server of your own and is not in ` +
  'this backup: restore it by its own means. Where that took it back in time, run "quarantine begin --moment TIME" ' +
  'before the service starts.\n';

function adviseSecrets(context: CliContext): void {
  context.write(
    'Start it with DATA_FOLDER set to that folder and with the settings it had. Where SESSION_SECRET, KEY_PEPPER and ' +
      'MASTER_KEY were set, they are not in a backup: set them again.\n',
  );
}
