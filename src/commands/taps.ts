import { parseArgs } from 'node:util';
import { DeadLetters, type TapState } from '../audit';
import { isUuid } from '../kernel';
import { commandActor, type CliCommand, UsageError } from './command';
import { withServices } from './with-services';

export const tapList: CliCommand = {
  usage: 'tap:list',
  summary: 'Lists the taps, what waits for them, and their dead letters.',
  run(argv, context) {
    parseArgs({ args: argv, options: {} });
    return withServices([DeadLetters], context, async (letters) => {
      const states = await letters.states();
      context.write(states.length === 0 ? 'No node has had a tap.\n' : states.map(stateText).join(''));
      return 0;
    });
  },
};

export const tapReplay: CliCommand = {
  usage: 'tap:replay NAME (--all | REQUEST_ID)',
  summary: 'Has the dead letters of a tap delivered once more, all of them or those of one request.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { all: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const [tap, requestId, ...others] = positionals;
    if (tap === undefined || others.length > 0) throw new UsageError('Name one tap.');
    if (values.all === (requestId !== undefined)) throw new UsageError('Say --all or the id of one request.');
    if (requestId !== undefined && !isUuid(requestId))
      throw new UsageError('A request is named by its id, a UUID.');
    return withServices([DeadLetters], context, async (letters) => {
      const selection = { tap, ...(requestId === undefined ? {} : { requestId }) };
      const count = await letters.replay(selection, commandActor);
      if (count === 0) context.writeStderr(`${tap} has no such dead letter. "tap:list" lists the taps.\n`);
      else
        context.write(`${count} ${count === 1 ? 'is' : 'are'} delivered once more by the running service.\n`);
      return count === 0 ? 1 : 0;
    });
  },
};

export const tapForget: CliCommand = {
  usage: 'tap:forget NAME [--yes]',
  summary:
    'Takes a tap away that is no longer listed, with its place and its dead letters. One that is still listed begins ' +
    'anew with what is settled from then on.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { yes: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const [tap, ...others] = positionals;
    if (tap === undefined || others.length > 0) throw new UsageError('Name one tap.');
    return withServices([DeadLetters], context, async (letters) => {
      const state = (await letters.states()).find(({ name }) => name === tap);
      if (state === undefined) {
        context.writeStderr(`There is no tap ${tap}. "tap:list" lists them.\n`);
        return 1;
      }
      context.write(stateText(state));
      if (!values.yes && !(await context.confirm('What waits for it will not be delivered. Take it away?'))) {
        context.writeStderr('Nothing was changed. Confirm at a terminal, or with --yes.\n');
        return 1;
      }
      await letters.forget(tap, commandActor);
      context.write(`Taken away: ${tap}.\n`);
      return 0;
    });
  },
};

function stateText(state: TapState): string {
  const { name, backlog, oldestAt, succeededAt, lastError, failures, deadLetters, delivered, dropped } =
    state;
  const since = oldestAt === null ? '' : `, the oldest since ${oldestAt.toISOString()}`;
  return [
    name,
    `  ${backlog} waiting${since}; ${delivered} delivered, ${dropped} left undelivered, ${deadLetters} dead letters`,
    `  last success: ${succeededAt?.toISOString() ?? 'none'}`,
    ...(failures > 0 ? [`  failed ${failures} times in a row: ${lastError ?? ''}`] : []),
    '',
  ].join('\n');
}
