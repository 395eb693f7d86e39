import { handledEvents, loadSdk, PaymentProcessor } from '../billing';
import { loadSettings, outgoingClient, type Settings } from '../platform';
import type { Command, CommandContext } from './command';

interface Endpoint {
  readonly url: string;
  readonly status: string;
  readonly livemode: boolean;
  readonly enabled_events: readonly string[];
}

const MOST_ENDPOINTS = 100;

export const processorCheck: Command = {
  usage: 'processor:check',
  summary:
    'Says whether the payment processor is set up: keys, webhook endpoint, and events that are missing.',
  run: async (words, context) => {
    const settings = loadSettings(context.environment);
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
    outgoing.close();
    const problems = [...missing, ...report(endpoints, webhook, context)];
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

function report(endpoints: readonly Endpoint[], webhook: string, context: CommandContext): string[] {
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
  return [...absent];
}
