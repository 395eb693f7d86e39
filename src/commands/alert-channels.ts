import { parseArgs } from 'node:util';
import {
  AlertChannels,
  AlertClient,
  audiences,
  type Channel,
  channelKinds,
  severities,
  type ChannelTarget,
} from '../alerts';
import { locales } from '../views';
import { commandActor, type CliCommand, type CliContext, UsageError } from './command';
import { withServices } from './with-services';

const PLATFORM = null;

export const alertChannelList: CliCommand = {
  usage: 'alert-channel:list',
  summary: 'Lists the alert channels of the platform, without their addresses and keys.',
  run(argv, context) {
    parseArgs({ args: argv, options: {} });
    return withServices([AlertChannels], context, async (alertChannels) => {
      const channels = await alertChannels.of(PLATFORM);
      context.write(channels.length === 0 ? 'There are no channels.\n' : channels.map(channelLine).join(''));
      return 0;
    });
  },
};

const text = { type: 'string' } as const;

export const alertChannelAdd: CliCommand = {
  usage: `alert-channel:add ${channelKinds.join('|')} --name NAME [--severity ${severities.join('|')}] [--language LANGUAGE] [--audience ${audiences.join('|')}]`,
  summary:
    'Adds an alert channel of the platform. ALERT_CHANNEL_URL has its address, ALERT_CHANNEL_KEY the signing secret ' +
    'of a webhook or the integration key of PagerDuty; mail needs neither.',
  run(argv, context) {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { name: text, severity: text, language: text, audience: text },
    });
    const [kindName, ...others] = positionals;
    const kind = oneOf(channelKinds, kindName, 'The kind');
    const name = values.name?.trim() ?? '';
    if (others.length > 0) throw new UsageError('Name one kind of channel.');
    if (name === '' || name.length > 100) throw new UsageError('--name takes 1 to 100 characters.');
    const input = {
      name,
      language: oneOf(locales, values.language ?? 'en', '--language'),
      audience: oneOf(audiences, values.audience ?? 'administrators', '--audience'),
      leastSeverity: oneOf(severities, values.severity ?? 'warning', '--severity'),
      enabled: true,
    };
    return withServices([AlertChannels, AlertClient], context, async (channels, client) => {
      const target = client.newTarget(PLATFORM, kind, targetIn(context));
      const id = await channels.create(PLATFORM, kind, input, target, commandActor);
      context.write(`Channel ${id} was added.\n`);
      return 0;
    });
  },
};

export const alertChannelRemove: CliCommand = {
  usage: 'alert-channel:remove ID',
  summary: 'Removes an alert channel of the platform.',
  run(argv, context) {
    const { positionals } = parseArgs({ args: argv, allowPositionals: true, options: {} });
    const [id = '', ...others] = positionals;
    if (!/^[1-9][0-9]{0,8}$/.test(id) || others.length > 0)
      throw new UsageError('Name one channel by its number. "alert-channel:list" lists them.');
    return withServices([AlertChannels], context, async (channels) => {
      await channels.remove(PLATFORM, Number(id), commandActor);
      context.write(`Channel ${id} was removed.\n`);
      return 0;
    });
  },
};

/** Secrets come from the environment, because every user of the machine can read arguments. */
function targetIn({ environment }: CliContext): Partial<ChannelTarget> {
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

const channelLine = ({ id, kind, name, host, leastSeverity, enabled, lastError }: Channel): string =>
  `${id}  ${kind}  ${name}${host === '' ? '' : `  ${host}`}  from ${leastSeverity}${enabled ? '' : ', off'}` +
  `${lastError === null ? '' : `, last error: ${lastError}`}\n`;
