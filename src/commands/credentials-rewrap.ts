import { parseArgs } from 'node:util';
import { ActivityLog } from '../audit';
import { Database, MasterKeys, rewrapColumn, Settings, type Tx } from '../platform';
import { commandActor, type CliCommand, UsageError } from './command';
import { sealedColumns } from './sealed-columns';
import { withServices } from './with-services';

export const credentialsRewrap: CliCommand = {
  usage: 'credentials rewrap',
  summary:
    'Moves everything that is encrypted from former master keys to the current one; afterwards those can go.',
  run(argv, context) {
    parseArgs({ args: argv, options: {} });
    const services = [Database, Settings, ActivityLog] as const;
    return withServices(services, context, async (database, settings, activity) => {
      const { current, former } = MasterKeys.parse(settings.masterKey);
      if (former.length === 0)
        throw new UsageError(
          'MASTER_KEY names no former key: give the new one, a comma, and the one before.',
        );
      const unreadable: string[] = [];
      let moved = 0;
      for (const old of former) {
        const recordOf = (subject: string) => async (tx: Tx, count: number) => {
          await activity.write(tx, {
            action: 'credential.rewrapped',
            object: { type: 'credential', label: `${count} ${subject}` },
            changes: { master_key_id: [old.id, current.id] },
            concerns: {},
            actor: commandActor,
          });
        };
        for (const column of sealedColumns) {
          const record = recordOf(`${column.table}.${column.column}`);
          const summary = await rewrapColumn(database, column, { from: old, to: current }, { record });
          moved += summary.rewrapped;
          unreadable.push(...summary.unreadable);
        }
      }
      context.write(
        `${moved} ${moved === 1 ? 'secret is' : 'secrets are'} under the current master key now.\n`,
      );
      if (unreadable.length === 0) return 0;
      context.writeStderr(
        `Not readable with the key they name, and left as they are: ${unreadable.join(', ')}\n`,
      );
      return 1;
    });
  },
};
