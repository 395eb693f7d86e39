import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import type { INestApplication } from '@nestjs/common';
import type { Application } from 'express';
import { migrations } from '../../migrations';
import { AppModule, type AppOptions } from './app.module';
import { TapDelivery } from '../audit';
import { BackupScheduler } from '../backup';
import { MoneyWatch, PaymentProcessor } from '../billing';
import { CatalogueService } from '../catalogue';
import { Extensions, loadExtensions, tablesOf } from '../extensions';
import { Lifecycle } from '../gateway';
import {
  AddressGuard,
  assertPortsFree,
  Database,
  LeanAdapter,
  Logger,
  Metrics,
  MetricsServer,
  NestLogger,
  type OpeningDatabase,
  ownProcess,
  type ShutdownKind,
  processEnvironment,
  QueueSupervisor,
  RepeatingJobs,
  servedPaths,
  servesGateway,
  servesPortal,
  Settings,
  startDatabase,
  supervised,
} from '../platform';
import { startIfRestored, Quarantine, QuarantineResponder } from '../quarantine';
import { LaneProber, SupplierStyles } from '../routing';
import { hostParts, serveAssets, verifyExtensions } from '../web';
import { BootModule } from './boot.module';
import { FirstBoot, type FirstKeys } from './first-boot';
import { shouldRunSandbox, startPaymentSandbox, startSandbox, type Sandbox } from './sandbox';
import { watchOtherNodes } from './other-nodes';
import { respondWhileStarting } from './respond-while-starting';

export interface RunningService {
  readonly application: INestApplication;
  readonly url: string;
  readonly firstKeys: FirstKeys | null;
  readonly sandbox: boolean;
  readonly failed: Promise<never>;
  readonly readMetrics: () => Promise<string>;
  close(parting?: ShutdownKind): Promise<void>;
}

export interface ServiceOptions {
  readonly extraModules?: AppOptions['extraModules'];
  readonly sandboxUrl?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** If false, repeating jobs run only when called. */
  readonly schedule?: boolean;
}

const UNSEEN_KEYS_MESSAGE =
  'the first keys were made, and the start failed before they were shown: once the service runs, make others with ' +
  '"npm run cli -- root-key rotate" and "npm run cli -- sign-in-link EMAIL"';

/** Delay of background work, so that clients that poll for the start are answered first. */
const BACKGROUND_DELAY_MS = 50;

/** Time for open responses to finish on shutdown before their connections are closed. */
const CLOSE_DEADLINE_MS = 5_000;

/** Time for clients of a replaced process to make one more request; idle clients are cut off. */
const RETIRE_DEADLINE_MS = 10_000;

/** Starts all parts in order of dependency; a failure stops the parts that already run. */
export async function startService(
  settings: Settings,
  logger: Logger,
  options: ServiceOptions = {},
): Promise<RunningService> {
  // A supervisor has already checked the ports and holds them.
  if (ownProcess === null) await assertPortsFree(settings);
  const adapter = adapterFor(settings);
  try {
    const url = await listen(adapter, settings);
    return await startParts(adapter, url, settings, logger, options);
  } catch (error) {
    (adapter.getHttpServer() as Server).closeAllConnections();
    await adapter.close();
    throw error;
  }
}

async function startParts(
  adapter: LeanAdapter,
  url: string,
  settings: Settings,
  logger: Logger,
  options: ServiceOptions,
): Promise<RunningService> {
  const extensions = await extensionsFor(settings, logger, options.environment ?? processEnvironment);
  const tables = tablesOf(extensions.all);
  const database = await startDatabase(settings, { migrations, extensions: tables }, logger);
  let firstKeys: FirstKeys | null = null;
  let sandbox: Sandbox | null = null;
  let payments: Sandbox | null = null;
  let application: INestApplication | null = null;
  try {
    application = await createApplication(adapter, settings, logger, {
      databaseUrl: database.url,
      // A restored folder is quarantined before anything in it is read.
      databaseCurrent: startIfRestored(settings.dataFolder, database.current, database.url),
      extensions,
      extraModules: [BootModule, ...(options.extraModules ?? [])],
    });
    await application.init();
    const { providers } = application.get(CatalogueService).snapshot;
    if (shouldRunSandbox(settings, providers)) sandbox = await startSandbox(logger);
    const sandboxUrl = options.sandboxUrl ?? sandbox?.url ?? null;
    allowSandboxAddress(application, sandboxUrl);
    const firstBoot = application.get(FirstBoot);
    firstKeys = await firstBoot.run(sandboxUrl);
    if (sandboxUrl === null && settings.sandbox === 'auto') await firstBoot.retireSandbox();
    exposeEmbeddedDatabase(application, database);
    const metrics = application.get(MetricsServer);
    if (ownProcess === null) await metrics.start();
    else metrics.reportAs(ownProcess);
    adapter.closedHandler = application.get(Quarantine).isOpen
      ? application.get(QuarantineResponder).respond
      : null;
    if (servesPortal(settings)) payments = await startPaymentSandbox(settings, logger);
    if (payments !== null)
      await application
        .get(PaymentProcessor)
        .useSandbox(payments.url, `${url}/api/billing/processor/webhook`);
    await delay(BACKGROUND_DELAY_MS);
    await startBackups(application, database);
    startWorkWhenReleased(application, settings, logger, options.schedule !== false);
    const stopWatching = watchOtherNodes(settings, application.get(Database), logger);
    return {
      application,
      url,
      firstKeys,
      sandbox: sandbox !== null,
      failed: rejectWhenDatabaseLost(database),
      readMetrics: () => metrics.text(),
      close: createClose(application, settings, { sandboxes: [sandbox, payments], database, stopWatching }),
    };
  } catch (error) {
    if (firstKeys !== null) logger.error(UNSEEN_KEYS_MESSAGE);
    await application?.close();
    await stopAll([sandbox, payments]);
    await database.close();
    throw error;
  }
}

async function extensionsFor(
  settings: Settings,
  logger: Logger,
  environment: NodeJS.ProcessEnv,
): Promise<Extensions> {
  const loaded = await loadExtensions(settings.extensions, {
    environment,
    workingFolder: process.cwd(),
    logFor: (extension) => logger.child({ extension }),
    nestExports: hostParts,
  });
  const extensions = new Extensions(loaded);
  await verifyExtensions(extensions);
  // Refuses two styles of the same name before anything runs.
  new SupplierStyles(extensions.suppliers);
  if (servesPortal(settings)) {
    const { verifyDirectoryRoles } = await import('../portal/index.js');
    verifyDirectoryRoles(extensions, settings);
  }
  return extensions;
}

function startWorkWhenReleased(
  application: INestApplication,
  settings: Settings,
  logger: Logger,
  isScheduled: boolean,
): void {
  const quarantine = application.get(Quarantine);
  const startWork = (): void => startBackgroundWork(application, settings, logger, isScheduled);
  if (!quarantine.isOpen) return startWork();
  const adapter = application.get(LeanAdapter);
  void quarantine.hold(() => {
    adapter.closedHandler = null;
    startWork();
  });
}

async function startBackups(
  application: INestApplication,
  { folder, ownerUrl }: OpeningDatabase,
): Promise<void> {
  if (folder !== undefined) await application.get(BackupScheduler).start({ folder, ownerUrl });
}

function startBackgroundWork(
  application: INestApplication,
  settings: Settings,
  logger: Logger,
  isScheduled: boolean,
): void {
  application.get(QueueSupervisor).startWorkers();
  application.get(TapDelivery).start();
  // Gateway nodes leave this check to the nodes that run jobs.
  if (servesPortal(settings))
    application
      .get(MoneyWatch)
      .verify()
      .catch((error: unknown) => logger.warn('money could not be verified', { error }));
  if (!isScheduled) return;
  application.get(RepeatingJobs).start();
  if (servesGateway(settings)) application.get(LaneProber).start();
}

function adapterFor(settings: Settings): LeanAdapter {
  const times = { stallTimeout: settings.clientStallTimeoutMs };
  const serves = servedPaths(settings.serve);
  const adapter = new LeanAdapter(settings.leanAdapter, times, settings.corsOrigins, serves);
  adapter.set('trust proxy', settings.trustProxy);
  adapter.closedHandler = respondWhileStarting;
  adapter.initHttpServer();
  return adapter;
}

async function createApplication(
  adapter: LeanAdapter,
  settings: Settings,
  logger: Logger,
  options: AppOptions,
): Promise<INestApplication> {
  if (servesPortal(settings))
    serveAssets(adapter.getInstance<Application>(), settings.environment !== 'development');
  const module = await AppModule.forRoot(settings, logger, adapter, options);
  return NestFactory.create(module, adapter, {
    logger: new NestLogger(logger),
    bodyParser: false,
    abortOnError: false,
    routeResolutionStrategy: 'specificity',
    // If a literal path and a parameter both match ("new" and ":key_id"), the literal path wins.
    routeConflictPolicy: { duplicate: 'error', shadow: 'off' },
  });
}

function exposeEmbeddedDatabase(application: INestApplication, { embedded }: OpeningDatabase): void {
  if (embedded === null) return;
  const { embeddedDatabaseEvents: counts } = application.get(Metrics);
  application.get(MetricsServer).watchFolder('database', embedded.folder);
  application.get(Metrics).beforeRead(() => {
    for (const [event, count] of Object.entries(embedded.events)) counts.at({ event }).value = count;
  });
}

/** Allows the sandbox's address: suppliers on loopback are otherwise refused unless an operator allows them. */
function allowSandboxAddress(application: INestApplication, url: string | null): void {
  if (url === null) return;
  const { hostname, port } = new URL(url);
  application
    .get(AddressGuard)
    .allow({ address: hostname, prefix: 32, family: 'ipv4', host: hostname, port: Number(port) });
}

async function listen(adapter: LeanAdapter, settings: Settings): Promise<string> {
  const server = adapter.getHttpServer() as Server;
  const supervisor = supervised();
  if (supervisor !== null) {
    supervisor.attachServer(server);
    return supervisor.address;
  }
  await once(server.listen(settings.port, settings.host), 'listening');
  const { port } = server.address() as AddressInfo;
  return `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`;
}

async function rejectWhenDatabaseLost(database: OpeningDatabase): Promise<never> {
  await database.exited;
  throw new Error('the embedded PostgreSQL ended and could not be started again');
}

interface CompanionParts {
  readonly sandboxes: readonly (Sandbox | null)[];
  readonly database: OpeningDatabase;
  readonly stopWatching: () => void;
}

async function stopAll(sandboxes: readonly (Sandbox | null)[]): Promise<void> {
  for (const sandbox of sandboxes) await sandbox?.stop();
}

/** Refuses new work, lets open work finish, then stops everything in reverse order of the start. */
function createClose(
  application: INestApplication,
  settings: Settings,
  { sandboxes, database, stopWatching }: CompanionParts,
): (parting?: ShutdownKind) => Promise<void> {
  let closing: Promise<void> | undefined;
  const close = async (parting: ShutdownKind): Promise<void> => {
    stopWatching();
    const server = application.getHttpServer() as Server;
    // Kept-alive connections close after their response, so that clients find another node.
    server.prependListener('request', (_request, response) => (response.shouldKeepAlive = false));
    // Other processes take new connections; each open one is served once more with a close notice.
    if (parting === 'retire') await supervised()?.waitUntilEmpty(RETIRE_DEADLINE_MS);
    await application.get(Lifecycle).drain(settings.drainTimeoutMs, settings.drainNoticeMs);
    server.closeIdleConnections();
    const cutTimer = setTimeout(() => server.closeAllConnections(), CLOSE_DEADLINE_MS);
    await supervised()?.waitUntilEmpty(CLOSE_DEADLINE_MS);
    await application.close();
    clearTimeout(cutTimer);
    await stopAll(sandboxes);
    await database.close();
  };
  return (parting = 'stop') => (closing ??= close(parting));
}
