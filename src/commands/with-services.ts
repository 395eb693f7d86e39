import { resolve } from 'node:path';
import type { Abstract, DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { migrations } from '../../migrations';
import { entities } from '../boot/app.module';
import { foreignMasterKeyIn } from '../catalogue';
import { type CliContext, NoInstallationError } from './command';
import { CommandsModule } from './commands.module';
import {
  applicationUrl,
  attachDatabase,
  Database,
  type ExtensionTables,
  hasEmbeddedDatabase,
  loadSettings,
  type Settings,
  resilientPoolOptions,
} from '../platform';

/** Prevents a command from creating an empty installation and reporting on that one. */
export function settingsOfInstallation(environment: NodeJS.ProcessEnv): Settings {
  const { databaseUrl, dataFolder } = loadSettings(environment, { createsSecrets: false });
  if (databaseUrl === undefined && !hasEmbeddedDatabase(dataFolder))
    throw new NoInstallationError(
      `There is no installation in ${resolve(dataFolder)}. Give the command the settings of the service ` +
        '(DATA_FOLDER, DATABASE_URL, secrets), or start the service once.',
    );
  return loadSettings(environment);
}

/** Classes of the injected instances, in their order. */
type Services<Instances extends readonly unknown[]> = {
  readonly [Index in keyof Instances]: Type<Instances[Index]> | Abstract<Instances[Index]>;
};

type CommandOutput = Pick<CliContext, 'environment' | 'writeStderr'>;

/**
 * Runs a command with services on the service's database, whether or not the service is running, and reports which
 * database it is.
 */
export async function withServices<Instances extends readonly unknown[], T>(
  services: Services<Instances>,
  context: CommandOutput,
  work: (...instances: Instances) => Promise<T>,
  extensions: readonly ExtensionTables[] = [],
): Promise<T> {
  const settings = settingsOfInstallation(context.environment);
  context.writeStderr(`Installation: ${describeInstallation(settings)}\n`);
  const connection = await attachDatabase(settings, { migrations, extensions });
  try {
    const options = { url: applicationUrl(connection.url), settings, context };
    return await injectServices<[Database, ...Instances], T>(
      [Database, ...services],
      options,
      async (database, ...instances) => {
        const problem = await foreignMasterKeyIn(database, settings);
        if (problem !== null)
          throw new NoInstallationError(`${problem} Give the command the secrets of the service.`);
        return work(...instances);
      },
    );
  } finally {
    await connection.close();
  }
}

/** Like `withServices`, as the owner of the schema, for a command that changes it. */
export async function withOwnerServices<Instances extends readonly unknown[], T>(
  services: Services<Instances>,
  context: CommandOutput,
  work: (ownerUrl: string, ...instances: Instances) => Promise<T>,
): Promise<T> {
  const settings = settingsOfInstallation(context.environment);
  context.writeStderr(`Installation: ${describeInstallation(settings)}\n`);
  const connection = await attachDatabase(settings, { migrations });
  const { ownerUrl: url } = connection;
  try {
    return await injectServices(services, { url, settings, context }, (...instances) =>
      work(url, ...instances),
    );
  } finally {
    await connection.close();
  }
}

/** Runs a read-only command on the service's database. An external database is not migrated. */
export async function inspectDatabase<T>(
  settings: Settings,
  context: CommandOutput,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { databaseUrl } = settings;
  const connection = databaseUrl === undefined ? await attachDatabase(settings, { migrations }) : null;
  try {
    const url = applicationUrl(connection?.url ?? databaseUrl!);
    return await injectServices([Database], { url, settings, context }, work);
  } finally {
    await connection?.close();
  }
}

export interface ServicesOptions {
  readonly url: string;
  readonly settings: Settings;
  readonly context: Pick<CliContext, 'writeStderr'>;
}

/** Runs work with services on the database of a URL. */
export async function injectServices<Instances extends readonly unknown[], T>(
  services: Services<Instances>,
  { url, settings, context }: ServicesOptions,
  work: (...instances: Instances) => Promise<T>,
): Promise<T> {
  const source = await new DataSource({
    type: 'postgres',
    url,
    installExtensions: false,
    extra: resilientPoolOptions,
    poolSize: 3,
    entities,
  }).initialize();
  try {
    const module = CommandsModule.forRoot({ settings, source, writeStderr: context.writeStderr });
    return await runInContext(module, services, work);
  } finally {
    await source.destroy();
  }
}

/** Runs work with providers of a module in an application context, which ends with the work. */
export async function runInContext<Instances extends readonly unknown[], T>(
  module: DynamicModule,
  services: Services<Instances>,
  work: (...instances: Instances) => Promise<T>,
): Promise<T> {
  const application = await NestFactory.createApplicationContext(module, {
    logger: ['warn'],
    abortOnError: false,
  });
  try {
    const instances = services.map((service) => application.resolve(service));
    return await work(...((await Promise.all(instances)) as unknown as Instances));
  } finally {
    await application.close();
  }
}

export function describeInstallation({ databaseUrl, dataFolder }: Settings): string {
  if (databaseUrl === undefined) return `embedded PostgreSQL in ${dataFolder}`;
  const { host, pathname } = new URL(databaseUrl);
  return `PostgreSQL at ${host || 'a local socket'}${pathname}`;
}
