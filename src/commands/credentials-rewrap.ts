import { parseArgs } from 'node:util';
import { ActivityLog } from '../audit';
import { rewrapCredentials } from '../catalogue';
import { MasterKeys } from '../platform';
import { type Command, UsageError } from './command';
import { commandActor } from './key-entries';
import { withDatabase } from './with-database';

export const credentialsRewrap: Command = {
  usage: 'credentials rewrap',
  summary:
    'Moves the secrets of suppliers from former master keys to the current one; afterwards those can go.',
  run(words, context) {
    parseArgs({ args: words, options: {} });
    return withDatabase(async (database, settings) => {
      const { current, former } = MasterKeys.parse(settings.masterKey);
      if (former.length === 0)
        throw new UsageError(
          'MASTER_KEY names no former key: give the new one, a comma, and the one before.',
        );
      const activity = new ActivityLog(database);
      const unreadable: string[] = [];
      let moved = 0;
      for (const old of former) {
        const summary = await rewrapCredentials(database, old, current, {
          record: (tx, count) =>
            activity.write(tx, {
              action: 'credential.rewrapped',
              object: { type: 'credential', label: `${count}` },
              changes: { master_key_id: [old.id, current.id] },
              concerns: {},
              actor: commandActor,
            }),
        });
        moved += summary.rewrapped;
        unreadable.push(...summary.unreadable);
      }
      context.write(
        `${moved} ${moved === 1 ? 'secret is' : 'secrets are'} under the current master key now.\n`,
      );
      if (unreadable.length === 0) return 0;
      context.complain(
        `Not readable with the key they name, and left as they are: ${unreadable.join(', ')}\n`,
      );
      return 1;
    }, context);
  },
};
