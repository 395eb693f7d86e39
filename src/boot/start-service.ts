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
import { BackupKeeper } from '../backup';
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
  type Parting,
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
import { beginIfRestored, Quarantine, QuarantineDoor } from '../quarantine';
import { LaneProber, SupplierStyles } from '../routing';
import { lentParts, serveAssets, verifyExtensions } from '../web';
import { BootModule } from './boot.module';
import { FirstBoot, type FirstKeys } from './first-boot';
import { isSandboxWanted, startPaymentSandbox, startSandbox, type Sandbox } from './sandbox';
import { watchOtherNodes } from './other-nodes';
import { answerWhileStarting } from './starting-door';

export interface RunningService {
  readonly application: INestApplication;
  readonly url: string;
  /** Only the very first start has the keys that were made. */
  readonly firstKeys: FirstKeys | null;
  readonly sandbox: boolean;
  /** Rejects when a required part, such as the embedded database, has ended. */
  readonly failed: Promise<never>;
  /** The numbers of this process, for a supervisor that serves them. */
  readonly readMetrics: () => Promise<string>;
  close(parting?: Parting): Promise<void>;
}

export interface ServiceOptions {
  readonly extraModules?: AppOptions['extraModules'];
  /** A sandbox supplier that another process runs. */
  readonly sandboxUrl?: string;
  /** It has the settings of extensions; left out: that of the process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Without a schedule the repeating jobs run only when they are called. */
  readonly schedule?: boolean;
}

const UNSEEN_KEYS =
  'the first keys were made, and the start failed before they were shown: once the service runs, make others with ' +
  '"npm run cli -- root-key rotate" and "npm run cli -- sign-in-link EMAIL"';

/** Background work waits this long, so that clients that poll for the start are answered first. */
const FIRST_ANSWERS_MS = 50;

/** Answers may take so long to finish after new work is refused; then they are cut. */
const CLOSE_DEADLINE_MS = 5_000;

/** Those who are connected to a process that is replaced make a request in this time, or have no use for it. */
const MOVE_MS = 10_000;

/** Starts everything in order of dependency; a failure stops the parts that already run. */
export async function startService(
  settings: Settings,
  logger: Logger,
  options: ServiceOptions = {},
): Promise<RunningService> {
  // A supervisor has looked before, and holds the port.
  if (ownProcess === null) await assertPortsFree(settings);
  const adapter = adapterFor(settings);
  try {
    const url = await listen(adapter, settings);
    return await startBehind(adapter, url, settings, logger, options);
  } catch (error) {
    (adapter.getHttpServer() as Server).closeAllConnections();
    await adapter.close();
    throw error;
  }
}

/** Requests are answered by the door of the adapter until everything runs. */
async function startBehind(
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
      // A restored folder is quarantined before anything of it is read.
      databaseCurrent: beginIfRestored(settings.dataFolder, database.current, database.url),
      extensions,
      extraModules: [BootModule, ...(options.extraModules ?? [])],
    });
    await application.init();
    const { providers } = application.get(CatalogueService).snapshot;
    if (isSandboxWanted(settings, providers)) sandbox = await startSandbox(logger);
    const sandboxUrl = options.sandboxUrl ?? sandbox?.url ?? null;
    admitSandbox(application, sandboxUrl);
    const firstBoot = application.get(FirstBoot);
    firstKeys = await firstBoot.run(sandboxUrl);
    if (sandboxUrl === null && settings.sandbox === 'auto') await firstBoot.retireSandbox();
    showEmbedded(application, database);
    const metrics = application.get(MetricsServer);
    if (ownProcess === null) await metrics.start();
    else metrics.speakFor(ownProcess);
    adapter.door = application.get(Quarantine).isOpen ? application.get(QuarantineDoor).keeps : null;
    if (servesPortal(settings)) payments = await startPaymentSandbox(settings, logger);
    if (payments !== null)
      await application
        .get(PaymentProcessor)
        .useSandbox(payments.url, `${url}/api/billing/processor/webhook`);
    // Background work begins after the first answers.
    await delay(FIRST_ANSWERS_MS);
    await startBackups(application, database);
    workOnceReleased(application, settings, logger, options.schedule !== false);
    const stopWatching = watchOtherNodes(settings, application.get(Database), logger);
    return {
      application,
      url,
      firstKeys,
      sandbox: sandbox !== null,
      failed: whenLost(database),
      readMetrics: () => metrics.text(),
      close: closer(application, settings, { sandboxes: [sandbox, payments], database, stopWatching }),
    };
  } catch (error) {
    if (firstKeys !== null) logger.error(UNSEEN_KEYS);
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
    lent: lentParts,
  });
  const extensions = new Extensions(loaded);
  await verifyExtensions(extensions);
  // Two styles of one name are refused before anything runs.
  new SupplierStyles(extensions.suppliers);
  if (servesPortal(settings)) {
    const { verifyDirectoryRoles } = await import('../portal/index.js');
    verifyDirectoryRoles(extensions, settings);
  }
  return extensions;
}

/** A restored installation sends and changes nothing by itself before an operator has released it. */
function workOnceReleased(
  application: INestApplication,
  settings: Settings,
  logger: Logger,
  isScheduled: boolean,
): void {
  const quarantine = application.get(Quarantine);
  const begin = (): void => startBackgroundWork(application, settings, logger, isScheduled);
  if (!quarantine.isOpen) return begin();
  const adapter = application.get(LeanAdapter);
  void quarantine.hold(() => {
    adapter.door = null;
    begin();
  });
}

/** Only the node that has the embedded database makes backups of it. */
async function startBackups(
  application: INestApplication,
  { folder, ownerUrl }: OpeningDatabase,
): Promise<void> {
  if (folder !== undefined) await application.get(BackupKeeper).start({ folder, ownerUrl });
}

function startBackgroundWork(
  application: INestApplication,
  settings: Settings,
  logger: Logger,
  isScheduled: boolean,
): void {
  application.get(QueueSupervisor).startWorkers();
  application.get(TapDelivery).start();
  // A node of the gateway leaves this to those that run jobs.
  if (servesPortal(settings))
    application
      .get(MoneyWatch)
      .look()
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
  adapter.door = answerWhileStarting;
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
    // Where a literal path and a parameter both match ("new" and ":key_id"), the literal one wins.
    routeConflictPolicy: { duplicate: 'error', shadow: 'off' },
  });
}

function showEmbedded(application: INestApplication, { embedded }: OpeningDatabase): void {
  if (embedded === null) return;
  const { embeddedDatabaseEvents: counts } = application.get(Metrics);
  application.get(MetricsServer).watchFolder('database', embedded.folder);
  application.get(Metrics).beforeRead(() => {
    for (const [event, count] of Object.entries(embedded.events)) counts.at({ event }).value = count;
  });
}

/** Suppliers on loopback are refused unless an operator allows them; the sandbox is one of our own. */
function admitSandbox(application: INestApplication, url: string | null): void {
  if (url === null) return;
  const { hostname, port } = new URL(url);
  application
    .get(AddressGuard)
    .allow({ address: hostname, prefix: 32, family: 'ipv4', host: hostname, port: Number(port) });
}

/** Returns the address of the service. */
async function listen(adapter: LeanAdapter, settings: Settings): Promise<string> {
  const server = adapter.getHttpServer() as Server;
  const supervisor = supervised();
  if (supervisor !== null) {
    supervisor.serveBy(server);
    return supervisor.address;
  }
  await once(server.listen(settings.port, settings.host), 'listening');
  const { port } = server.address() as AddressInfo;
  return `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`;
}

async function whenLost(database: OpeningDatabase): Promise<never> {
  await database.exited;
  throw new Error('the embedded PostgreSQL ended and could not be started again');
}

/** These parts run beside the application and end after it. */
interface Beside {
  readonly sandboxes: readonly (Sandbox | null)[];
  readonly database: OpeningDatabase;
  readonly stopWatching: () => void;
}

async function stopAll(sandboxes: readonly (Sandbox | null)[]): Promise<void> {
  for (const sandbox of sandboxes) await sandbox?.stop();
}

/** New work is refused, open work may finish, then everything stops in reverse order of the start. */
function closer(
  application: INestApplication,
  settings: Settings,
  { sandboxes, database, stopWatching }: Beside,
): (parting?: Parting) => Promise<void> {
  let closing: Promise<void> | undefined;
  const close = async (parting: Parting): Promise<void> => {
    stopWatching();
    const server = application.getHttpServer() as Server;
    // Kept-alive connections close after their answer, so that clients find another node.
    server.prependListener('request', (_request, response) => (response.shouldKeepAlive = false));
    // Other processes take new connections; each present one is served once more, and told that it closes.
    if (parting === 'retire') await supervised()?.emptied(MOVE_MS);
    await application.get(Lifecycle).drain(settings.drainTimeoutMs, settings.drainNoticeMs);
    server.closeIdleConnections();
    const cut = setTimeout(() => server.closeAllConnections(), CLOSE_DEADLINE_MS);
    await supervised()?.emptied(CLOSE_DEADLINE_MS);
    await application.close();
    clearTimeout(cut);
    await stopAll(sandboxes);
    await database.close();
  };
  return (parting = 'stop') => (closing ??= close(parting));
}
