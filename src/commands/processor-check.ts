import { handledEvents, loadSdk, PaymentProcessor } from '../billing';
import { loadSettings, outgoingClient, type Settings } from '../platform';
import type { Command, CommandContext } from './command';

interface Endpoint {
  readonly url: string;
  readonly status: string;
  readonly livemode: boolean;
  /** It is null where the events follow the default of the account. */
  readonly api_version: string | null;
  readonly enabled_events: readonly string[];
}

const MOST_ENDPOINTS = 100;

export const processorCheck: Command = {
  usage: 'processor:check',
  summary:
    'Says whether the payment processor is set up: keys, webhook endpoint, and events that are missing.',
  run: async (words, context) => {
    const settings = loadSettings(context.environment);
    if (settings.processor === 'sandbox') {
      context.write('mode     sandbox: payments are simulated, and there is nothing to set up\n');
      return 0;
    }
    const missing = missingSettings(settings);
    for (const line of missing) context.write(`MISSING  ${line}\n`);
    if (settings.processorSecretKey === undefined) return 1;
    const outgoing = outgoingClient(settings);
    const processor = new PaymentProcessor(await loadSdk(settings), settings, outgoing);
    const webhook = `${settings.baseUrl}/api/billing/processor/webhook`;
    context.write(`mode     ${processor.isTestMode ? 'test: no money moves' : 'live'}\n`);
    context.write(`webhook  ${webhook}\n`);
    const endpoints = await processor.ask((client) =>
      client.webhookEndpoints.list({ limit: MOST_ENDPOINTS }).autoPagingToArray({ limit: MOST_ENDPOINTS }),
    );
    const version = processor.apiVersion ?? '';
    context.write(`version  ${version}\n`);
    const told = await processor.ask((client) => client.events.list({ limit: 1 }));
    const usual = told.data[0]?.api_version ?? null;
    outgoing.close();
    const problems = [...missing, ...report(endpoints, { webhook, version, usual }, context)];
    context.write(
      `processor:check: ${problems.length === 0 ? 'all is set up' : `${problems.length} missing`}\n`,
    );
    return problems.length === 0 ? 0 : 1;
  },
};

function missingSettings(settings: Settings): string[] {
  return [
    ...(settings.processorSecretKey === undefined ? ['PROCESSOR_SECRET_KEY'] : []),
    ...(settings.processorWebhookSecret === undefined ? ['PROCESSOR_WEBHOOK_SECRET'] : []),
  ];
}

interface Expected {
  readonly webhook: string;
  readonly version: string;
  /** The account tells events in this version by default, where it has told any. */
  readonly usual: string | null;
}

function report(
  endpoints: readonly Endpoint[],
  { webhook, version, usual }: Expected,
  context: CommandContext,
): string[] {
  for (const { url, status, enabled_events: events } of endpoints) {
    context.write(`endpoint ${url} (${status}): ${events.join(', ')}\n`);
  }
  const ours = endpoints.find(({ url, status }) => url === webhook && status === 'enabled');
  const told = ours?.enabled_events ?? [];
  const absent = told.includes('*') ? [] : handledEvents.filter((name) => !told.includes(name));
  if (ours === undefined) {
    context.write(`MISSING  an endpoint for ${webhook}; its events: ${handledEvents.join(', ')}\n`);
    return [webhook];
  }
  for (const name of absent) context.write(`MISSING  the event ${name}\n`);
  const spoken = ours.api_version ?? usual;
  if (spoken === null || releaseOf(spoken) === releaseOf(version)) return [...absent];
  context.write(`MISSING  an endpoint whose version is ${version}: this one tells events of ${spoken}\n`);
  return [...absent, spoken];
}

/** Fields change between releases alone: within one, `2026-10-28.endive` and later dates say more and the same. */
const releaseOf = (version: string): string => version.split('.')[1] ?? version;
