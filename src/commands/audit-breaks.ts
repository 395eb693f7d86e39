import { parseArgs } from 'node:util';
import { ActivityLog, breakText, ChainBreaks } from '../audit';
import { type Command, UsageError } from './command';
import { commandActor } from './key-entries';
import { wholeNumberOf } from './readers';
import { withDatabase } from './with-database';

export const auditBreaks: Command = {
  usage: 'audit:breaks [--examined NUMBER --conclusion TEXT]',
  summary:
    'Lists what the self-check found in the audit chain, the newest first; ends with 1 while something is open. ' +
    '--examined ends the alarm of all that is open up to this number, with what the examination came to.',
  run(words, context) {
    const { values } = parseArgs({
      args: words,
      options: { examined: { type: 'string' }, conclusion: { type: 'string' } },
    });
    const { examined, conclusion } = values;
    if ((examined === undefined) !== (conclusion === undefined || conclusion.trim() === ''))
      throw new UsageError('--examined and --conclusion go together.');
    return withDatabase(async (database) => {
      const breaks = new ChainBreaks(database, new ActivityLog(database));
      if (examined !== undefined && conclusion !== undefined) {
        const upTo = wholeNumberOf(examined, '--examined');
        const count = await breaks.examined(upTo, conclusion.trim(), commandActor);
        context.write(`examined: ${count}\n`);
        return 0;
      }
      const open = await breaks.open();
      for (const each of open)
        context.write(`${each.id}  ${each.foundAt.toISOString()}  chain ${each.chain}: ${breakText(each)}\n`);
      context.write(
        open.length === 0 ? 'Nothing is open.\n' : 'See docs/audit.md, "When something does not fit".\n',
      );
      return open.length === 0 ? 0 : 1;
    }, context);
  },
};
