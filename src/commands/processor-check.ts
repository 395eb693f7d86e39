import { type DynamicModule, Module } from '@nestjs/common';
import { handledEvents, LOADED_SDK, loadSdk, PaymentProcessor } from '../billing';
import { ConfigModule, loadSettings, OutgoingModule, Settings } from '../platform';
import type { CliCommand, CliContext } from './command';
import { runInContext } from './with-services';

interface Endpoint {
  readonly url: string;
  readonly status: string;
  readonly livemode: boolean;
  /** Null if the events follow the account's default version. */
  readonly api_version: string | null;
  readonly enabled_events: readonly string[];
}

const MAX_ENDPOINTS = 100;

export const processorCheck: CliCommand = {
  usage: 'processor:check',
  summary:
    'Says whether the payment processor is set up: keys, webhook endpoint, and events that are missing.',
  run: async (argv, context) => {
    const settings = loadSettings(context.environment);
    if (settings.processor === 'sandbox') {
      context.write('mode     sandbox: payments are simulated, and there is nothing to set up\n');
      return 0;
    }
    const missing = missingSettings(settings);
    for (const line of missing) context.write(`MISSING  ${line}\n`);
    if (settings.processorSecretKey === undefined) return 1;
    return runInContext(ProcessorModule.forRoot(settings), [PaymentProcessor], async (processor) => {
      const webhook = `${settings.baseUrl}/api/billing/processor/webhook`;
      context.write(`mode     ${processor.isTestMode ? 'test: no money moves' : 'live'}\n`);
      context.write(`webhook  ${webhook}\n`);
      const endpoints = await processor.callWithKeyOnly((client) =>
        client.webhookEndpoints.list({ limit: MAX_ENDPOINTS }).autoPagingToArray({ limit: MAX_ENDPOINTS }),
      );
      const version = processor.apiVersion ?? '';
      context.write(`version  ${version}\n`);
      const latestEvents = await processor.callWithKeyOnly((client) => client.events.list({ limit: 1 }));
      const usual = latestEvents.data[0]?.api_version ?? null;
      const problems = [...missing, ...report(endpoints, { webhook, version, usual }, context)];
      context.write(
        `processor:check: ${problems.length === 0 ? 'all is set up' : `${problems.length} missing`}\n`,
      );
      return problems.length === 0 ? 0 : 1;
    });
  },
};

@Module({
  imports: [OutgoingModule],
  providers: [{ provide: LOADED_SDK, inject: [Settings], useFactory: loadSdk }, PaymentProcessor],
})
class ProcessorModule {
  static forRoot(settings: Settings): DynamicModule {
    return { module: ProcessorModule, imports: [ConfigModule.forRoot(settings)] };
  }
}

function missingSettings(settings: Settings): string[] {
  return [
    ...(settings.processorSecretKey === undefined ? ['PROCESSOR_SECRET_KEY'] : []),
    ...(settings.processorWebhookSecret === undefined ? ['PROCESSOR_WEBHOOK_SECRET'] : []),
  ];
}

interface Expected {
  readonly webhook: string;
  readonly version: string;
  /** Version of the account's latest event; null if there is none. */
  readonly usual: string | null;
}

function report(
  endpoints: readonly Endpoint[],
  { webhook, version, usual }: Expected,
  context: CliContext,
): string[] {
  for (const { url, status, enabled_events: events } of endpoints) {
    context.write(`endpoint ${url} (${status}): ${events.join(', ')}\n`);
  }
  const ownEndpoint = endpoints.find(({ url, status }) => url === webhook && status === 'enabled');
  const enabledEvents = ownEndpoint?.enabled_events ?? [];
  const missingEvents = enabledEvents.includes('*')
    ? []
    : handledEvents.filter((name) => !enabledEvents.includes(name));
  if (ownEndpoint === undefined) {
    context.write(`MISSING  an endpoint for ${webhook}; its events: ${handledEvents.join(', ')}\n`);
    return [webhook];
  }
  for (const name of missingEvents) context.write(`MISSING  the event ${name}\n`);
  const eventVersion = ownEndpoint.api_version ?? usual;
  if (eventVersion === null || releaseOf(eventVersion) === releaseOf(version)) return [...missingEvents];
  context.write(
    `MISSING  an endpoint whose version is ${version}: this one tells events of ${eventVersion}\n`,
  );
  return [...missingEvents, eventVersion];
}

/**
 * Fields change only between releases: within one, versions such as `2026-10-28.endive` with later dates are
 * compatible.
 */
const releaseOf = (version: string): string => version.split('.')[1] ?? version;
