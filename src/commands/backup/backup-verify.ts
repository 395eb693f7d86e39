import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseBackup, verifyBackup, withTarget } from '../../backup';
import { entities } from '../../boot/app.module';
import { loadSettings, Logger } from '../../platform';
import { type CliCommand, UsageError } from '../command';
import { runUntilInterrupted, yieldToService } from './process-control';
import { choiceOf } from './restore';
import { progressTo } from './progress';

export const backupVerify: CliCommand = {
  usage: 'backup:verify [TARGET] [--id BACKUP] [--at TIME] [--scratch FOLDER]',
  summary:
    'Restores the newest backup, or BACKUP, aside; examines it as "money:verify --full" and "audit:verify" do, removes ' +
    'it again, and marks it verified. FOLDER takes it for the moment, else BACKUP_SCRATCH.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { id: { type: 'string' }, at: { type: 'string' }, scratch: { type: 'string' } },
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new UsageError('Name one target.');
    const settings = loadSettings(context.environment, { createsSecrets: false });
    yieldToService(settings);
    return withTarget(settings, positionals[0], async (opened) => {
      const choice = await chooseBackup(opened.target, opened.key, { ...choiceOf(values), allowsGap: true });
      const { restored, examined, holds } = await runUntilInterrupted((signal) =>
        verifyBackup({
          ...opened,
          choice,
          scratch: values.scratch ?? settings.backupScratch ?? join(settings.dataFolder, 'backup-scratch'),
          settings,
          entities,
          logger: Logger.create(settings, { write: (line) => context.writeStderr(line) }),
          progress: progressTo(context),
          signal,
        }),
      );
      for (const { name, wrong } of examined) {
        context.write(`${wrong.length === 0 ? 'holds ' : 'BROKEN'}  ${name}\n`);
        for (const line of wrong) context.write(`        ${line}\n`);
      }
      const broken = examined.filter(({ wrong }) => wrong.length > 0).map(({ name }) => name);
      context.write(
        `backup:verify: ${choice.manifest.id} as of ${restored.moment.toISOString()}: ` +
          `${examined.length - broken.length} of ${examined.length} hold\n`,
      );
      const gap = choice.coverage?.gap;
      if (gap)
        context.write(
          `The log is complete to ${choice.coverage.until.toISOString()}: its segment ${gap.segment} ${gap.problem}.\n`,
        );
      if (choice.manifest.cluster === null) context.write(FILES_ONLY);
      if (!holds)
        context.writeStderr(`The backup ${choice.manifest.id} does not hold: ${broken.join('; ')}.\n`);
      return holds ? 0 : 1;
    });
  },
};

const FILES_ONLY =
  'Its database was a server of your own and is not in it: restore that one aside by its own means, and run ' +
  '"money:verify --full" and "audit:verify" there.\n';
