import { parseArgs } from 'node:util';
import { ActivityLog, changesOf } from '../audit';
import { acceptPepper, KeysService } from '../keys';
import { Database, Settings } from '../platform';
import { commandActor, type CliCommand, UsageError } from './command';
import { secondsOf } from './option-parsers';
import { withServices } from './with-services';

export const rootKeyRotate: CliCommand = {
  usage: 'root-key rotate [--grace 1h | --accept-pepper] [--id ID]',
  summary:
    'Gives the root admin key a new secret and prints it, this once. The old one ends at once, or after the grace. ' +
    '--accept-pepper takes a KEY_PEPPER that was changed on purpose: no key made before works with it.',
  run(argv, context) {
    const { values } = parseArgs({
      args: argv,
      options: {
        grace: { type: 'string', default: '0s' },
        'accept-pepper': { type: 'boolean', default: false },
        id: { type: 'string' },
      },
    });
    const graceSeconds = secondsOf(values.grace, '--grace');
    const acceptsPepper = values['accept-pepper'];
    if (acceptsPepper && graceSeconds > 0)
      throw new UsageError('No key works on after --accept-pepper: leave --grace out.');
    const services = [Database, Settings, KeysService, ActivityLog] as const;
    return withServices(services, context, async (database, settings, keys, activity) => {
      const issued = await database.transaction(async (tx) => {
        if (acceptsPepper) await acceptPepper(tx, settings);
        const rotatedKey = await keys.rotateRoot(tx, { publicId: values.id, graceSeconds });
        await activity.write(tx, {
          action: 'key.rotated',
          object: { type: 'key', id: rotatedKey.id, label: 'root key' },
          changes: changesOf(null, {
            grace_seconds: graceSeconds,
            ...(acceptsPepper && { key_pepper: 'accepted' }),
          }),
          actor: commandActor,
        });
        return rotatedKey;
      });
      const oldKeyText =
        graceSeconds === 0 ? 'The old one no longer works' : `The old one works for ${values.grace}`;
      context.writeStderr(`The root key has a new secret. ${oldKeyText}. The new one is shown only now:\n`);
      context.write(`${issued.text}\n`);
      return 0;
    });
  },
};
