import { parseArgs } from 'node:util';
import { breakText, ChainBreaks } from '../audit';
import { commandActor, type CliCommand, UsageError } from './command';
import { wholeNumberOf } from './option-parsers';
import { withServices } from './with-services';

export const auditBreaks: CliCommand = {
  usage: 'audit:breaks [--examined NUMBER --conclusion TEXT]',
  summary:
    'Lists what the self-check found in the audit chain, the newest first; ends with 1 while something is open. ' +
    '--examined ends the alarm of all that is open up to this number, with what the examination came to.',
  run(argv, context) {
    const { values } = parseArgs({
      args: argv,
      options: { examined: { type: 'string' }, conclusion: { type: 'string' } },
    });
    const { examined, conclusion } = values;
    if ((examined === undefined) !== (conclusion === undefined || conclusion.trim() === ''))
      throw new UsageError('--examined and --conclusion go together.');
    return withServices([ChainBreaks], context, async (breaks) => {
      if (examined !== undefined && conclusion !== undefined) {
        const upTo = wholeNumberOf(examined, '--examined');
        const count = await breaks.acknowledge(upTo, conclusion.trim(), commandActor);
        context.write(`examined: ${count}\n`);
        return 0;
      }
      const openBreaks = await breaks.listOpen();
      for (const each of openBreaks)
        context.write(`${each.id}  ${each.foundAt.toISOString()}  chain ${each.chain}: ${breakText(each)}\n`);
      context.write(
        openBreaks.length === 0
          ? 'Nothing is open.\n'
          : 'See docs/audit.md, "When something does not fit".\n',
      );
      return openBreaks.length === 0 ? 0 : 1;
    });
  },
};
