import { parseArgs } from 'node:util';
import { ActivityLog, changesOf } from '../audit';
import { PostgresMoneyStore, type UnreadJournal } from '../billing';
import { formatUsd } from '../kernel';
import { Database, type Tx } from '../platform';
import { commandActor, type CliCommand, UsageError } from './command';
import { withServices } from './with-services';

export const journalForget: CliCommand = {
  usage: 'journal:forget [NODE] [--yes]',
  summary:
    'Lists the dead nodes whose journals were not read, and what they hold. With NODE gives one up whose data folder ' +
    'is lost: what it holds is free again, and its journal charges nothing, should it turn up.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { yes: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new UsageError('Name one node.');
    const [node] = positionals;
    return withServices([Database, ActivityLog], context, async (database, activity) => {
      const store = new PostgresMoneyStore(database);
      const unread = await store.unreadJournals();
      if (node === undefined) {
        context.write(
          unread.length === 0 ? 'No dead node holds anything.\n' : unread.map(journalText).join(''),
        );
        return 0;
      }
      const unreadJournal = unread.find((each) => each.node === node);
      if (unreadJournal === undefined) {
        context.writeStderr(
          `${node} is no dead node that holds anything. "journal:forget" alone lists them.\n`,
        );
        return 1;
      }
      context.write(journalText(unreadJournal));
      const question = 'What this journal holds will never be charged. Forget it?';
      if (!values.yes && !(await context.confirm(question))) {
        context.writeStderr('Nothing was changed. Confirm at a terminal, or with --yes.\n');
        return 1;
      }
      const isForgotten = await store.forget(node, (tx) => recordForgotten(activity, tx, unreadJournal));
      context.write(isForgotten ? `Forgotten: what ${node} held is free.\n` : `${node} is running again.\n`);
      return isForgotten ? 0 : 1;
    });
  },
};

function recordForgotten(
  activity: ActivityLog,
  tx: Tx,
  { node, journal, held }: UnreadJournal,
): Promise<void> {
  const freed = held.map(({ ref, amount }) => `${ref.kind} ${ref.id}: ${formatUsd(amount)} USD`);
  return activity.write(tx, {
    action: 'journal.forgotten',
    object: { type: 'journal', id: journal, label: node },
    concerns: {},
    changes: changesOf({ held: freed }, null),
    actor: commandActor,
  });
}

function journalText({ node, journal, heardAt, held }: UnreadJournal): string {
  const limits = held.map(({ ref, amount }) => `  ${ref.kind} ${ref.id}: ${formatUsd(amount)} USD held\n`);
  return `${node}, last heard ${heardAt.toISOString()}, journal ${journal}\n${limits.join('')}`;
}
