import { parseArgs } from 'node:util';
import { ActivityLog, changesOf } from '../audit';
import { hasAddress, PendingSteps, resetSecondFactor, UserAccount } from '../identity';
import { Database } from '../platform';
import { commandActor, type CliCommand, UsageError } from './command';
import { withServices } from './with-services';

/** Needed by the last owner, because no other user is allowed to reset theirs. */
export const secondFactorReset: CliCommand = {
  usage: 'second-factor reset EMAIL --reason TEXT',
  summary:
    'Switches off two-step sign-in of a person who has lost the device and the recovery codes. The codes and all ' +
    'sessions end, and the reason is on record. Administrators do the same on the page of the person.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { reason: { type: 'string' } },
    });
    const [email, ...others] = positionals;
    if (email === undefined || others.length > 0)
      throw new UsageError('Name one person by their email address.');
    const reason = values.reason?.trim() ?? '';
    if (reason === '') throw new UsageError('--reason says why: it is on record.');
    const services = [Database, ActivityLog, PendingSteps] as const;
    return withServices(services, context, async (database, activity, pending) => {
      await database.transaction(async (tx) => {
        const user = await tx
          .createQueryBuilder(UserAccount, 'person')
          .where(hasAddress('person.email', ':email'), { email })
          .addSelect('person.email = :email', 'spelled_alike')
          .orderBy('spelled_alike', 'DESC')
          .getOne();
        if (user === null || user.status === 'deleted') throw new Error(`There is no account "${email}".`);
        if (!(await resetSecondFactor(tx, user.id, pending)))
          throw new Error(`Two-step sign-in of "${email}" is off.`);
        const { id: userId, organisationId, departmentId } = user;
        await activity.write(tx, {
          action: 'user.second-factor-reset',
          object: { type: 'account', id: userId, label: user.email },
          concerns: { userId, organisationId, departmentId },
          changes: changesOf({ second_factor: true }, { second_factor: false }),
          reason,
          actor: commandActor,
        });
      });
      context.write(`Two-step sign-in of ${email} is off, and all sessions have ended.\n`);
      return 0;
    });
  },
};
