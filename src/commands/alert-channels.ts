import { parseArgs } from 'node:util';
import {
  AlertChannels,
  AlertClient,
  audiences,
  type Channel,
  channelKinds,
  severities,
  type Target,
} from '../alerts';
import { ActivityLog } from '../audit';
import { type Database, MasterKeys, SecretBox, type Settings } from '../platform';
import { locales } from '../views';
import { type Command, type CommandContext, UsageError } from './command';
import { commandActor } from './key-entries';
import { withDatabase } from './with-database';

/** Channels of the platform itself belong to no organisation. */
const PLATFORM = null;

const channelsOf = (database: Database, settings: Settings): AlertChannels =>
  new AlertChannels(database, new SecretBox(MasterKeys.parse(settings.masterKey)), new ActivityLog(database));

export const alertChannelList: Command = {
  usage: 'alert-channel:list',
  summary: 'Lists the alert channels of the platform, without their addresses and keys.',
  run(words, context) {
    parseArgs({ args: words, options: {} });
    return withDatabase(async (database, settings) => {
      const channels = await channelsOf(database, settings).of(PLATFORM);
      context.write(channels.length === 0 ? 'There are no channels.\n' : channels.map(described).join(''));
      return 0;
    }, context);
  },
};

const text = { type: 'string' } as const;

export const alertChannelAdd: Command = {
  usage: `alert-channel:add ${channelKinds.join('|')} --name NAME [--severity ${severities.join('|')}] [--language LANGUAGE] [--audience ${audiences.join('|')}]`,
  summary:
    'Adds an alert channel of the platform. ALERT_CHANNEL_URL has its address, ALERT_CHANNEL_KEY the signing secret ' +
    'of a webhook or the integration key of PagerDuty; mail needs neither.',
  run(words, context) {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: { name: text, severity: text, language: text, audience: text },
    });
    const [word, ...others] = positionals;
    const kind = oneOf(channelKinds, word, 'The kind');
    const name = values.name?.trim() ?? '';
    if (others.length > 0) throw new UsageError('Name one kind of channel.');
    if (name === '' || name.length > 100) throw new UsageError('--name takes 1 to 100 characters.');
    const wish = {
      name,
      language: oneOf(locales, values.language ?? 'en', '--language'),
      audience: oneOf(audiences, values.audience ?? 'administrators', '--audience'),
      leastSeverity: oneOf(severities, values.severity ?? 'warning', '--severity'),
      enabled: true,
    };
    return withDatabase(async (database, settings) => {
      const client = new AlertClient(settings);
      const target = client.newTarget(PLATFORM, kind, targetIn(context));
      const id = await channelsOf(database, settings).create(PLATFORM, kind, wish, target, commandActor);
      context.write(`Channel ${id} was added.\n`);
      return 0;
    }, context);
  },
};

export const alertChannelRemove: Command = {
  usage: 'alert-channel:remove ID',
  summary: 'Removes an alert channel of the platform.',
  run(words, context) {
    const { positionals } = parseArgs({ args: words, allowPositionals: true, options: {} });
    const [id = '', ...others] = positionals;
    if (!/^[1-9][0-9]{0,8}$/.test(id) || others.length > 0)
      throw new UsageError('Name one channel by its number. "alert-channel:list" lists them.');
    return withDatabase(async (database, settings) => {
      await channelsOf(database, settings).remove(PLATFORM, Number(id), commandActor);
      context.write(`Channel ${id} was removed.\n`);
      return 0;
    }, context);
  },
};

/** Arguments can be read by every user of the machine, so secrets come from the environment. */
function targetIn({ environment }: CommandContext): Partial<Target> {
  const { ALERT_CHANNEL_URL: url = '', ALERT_CHANNEL_KEY: key = '' } = environment;
  return { ...(url === '' ? {} : { url }), ...(key === '' ? {} : { key }) };
}

function oneOf<Choice extends string>(
  choices: readonly Choice[],
  value: string | undefined,
  label: string,
): Choice {
  const choice = choices.find((each) => each === value);
  if (choice === undefined) throw new UsageError(`${label} is one of ${choices.join(', ')}.`);
  return choice;
}

const described = ({ id, kind, name, host, leastSeverity, enabled, lastError }: Channel): string =>
  `${id}  ${kind}  ${name}${host === '' ? '' : `  ${host}`}  from ${leastSeverity}${enabled ? '' : ', off'}` +
  `${lastError === null ? '' : `, last error: ${lastError}`}\n`;
