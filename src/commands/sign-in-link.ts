import { ActivityLog } from '../audit';
import { AccountTokens, UserAccount, hasAddress } from '../identity';
import { Database, Settings } from '../platform';
import { commandActor, type CliCommand, UsageError } from './command';
import { withServices } from './with-services';

export const signInLink: CliCommand = {
  usage: 'sign-in-link EMAIL',
  summary:
    'Prints a link that signs this person in, once, within a day: the way back in when neither password nor provider ' +
    'opens. An earlier link ends. Two-step sign-in has to be off.',
  run(argv, context) {
    const [email, ...others] = argv;
    if (email === undefined || others.length > 0)
      throw new UsageError('Name one person by their email address.');
    const services = [Database, Settings, ActivityLog, AccountTokens] as const;
    return withServices(services, context, async (database, settings, activity, tokens) => {
      const token = await database.transaction(async (tx) => {
        const user = await tx
          .createQueryBuilder(UserAccount, 'person')
          .where(hasAddress('person.email', ':email'), { email })
          .addSelect('person.email = :email', 'spelled_alike')
          .orderBy('spelled_alike', 'DESC')
          .getOne();
        if (user?.status !== 'active') throw new Error(`There is no active account "${email}".`);
        await tokens.revokeAll(tx, 'sign_in_link', user.id);
        const { id: userId, organisationId, departmentId } = user;
        await activity.write(tx, {
          action: 'account.sign-in-link-made',
          object: { type: 'account', id: userId, label: user.email },
          concerns: { userId, organisationId, departmentId },
          actor: commandActor,
        });
        return tokens.issue(tx, 'sign_in_link', { userId: user.id });
      });
      context.writeStderr('It works once, within a day:\n');
      context.write(`${settings.baseUrl}/sign-in-link?token=${token}\n`);
      return 0;
    });
  },
};
