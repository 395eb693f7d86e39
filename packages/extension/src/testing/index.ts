import type { Server } from 'node:http';
import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from '@nestjs/core';
import { HOST, HOST_SYMBOL } from '../contract-version';
import type { Contributions, Extension, Host, Log } from '../extension';
import type { ChangeRecord, Reader } from '../pages';
import type { Need, Ports } from '../ports';
import type { RequestKey } from '../requests';
import { portMethods } from './generated';
import { TestFilter, TestGuard, TestInterceptor, TestPipe, Visitors } from './http';
import { testParts } from './parts';

// Decorators run when the classes of the extension are loaded, so import this module before them.
Reflect.set(globalThis, HOST_SYMBOL, testParts);

type PortDoubles = { readonly [Name in Need]?: Partial<Ports[Name]> };

export interface TestHostOptions {
  /** By the names that the extension's schema reads, such as `words`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Results of port methods; calling a method without a double throws an error that names it. */
  readonly ports?: PortDoubles;
  /** Texts by key; a missing key is its own text. */
  readonly texts?: Readonly<Record<string, string>>;
}

export interface PortCall {
  readonly port: Need;
  readonly method: string;
  readonly values: readonly unknown[];
}

export interface AuditEntry {
  readonly action: string;
  readonly record: ChangeRecord;
}

/** An extension in a test host: Nest, the kinds of routes and the ports, without the service. */
export interface TestHost {
  readonly contributions: Contributions;
  /** For `Test.createTestingModule({ imports: [host.module] })`. */
  readonly module: DynamicModule;
  /** For `request(host.server)` of supertest. */
  readonly server: Server;
  readonly portCalls: readonly PortCall[];
  readonly auditEntries: readonly AuditEntry[];
  /** Messages of the log, and errors that caused a 500 response. */
  readonly log: readonly unknown[];
  /** Returns the headers of a signed-in user, as sent from a page of the host. */
  signedIn(reader?: Partial<Reader>): Record<string, string>;
  /** Returns the headers of a client with a key. */
  withKey(key?: Partial<RequestKey>): Record<string, string>;
  close(): Promise<void>;
}

export async function createTestHost<Settings, Needs extends Need>(
  extension: Extension<Settings, Needs>,
  options: TestHostOptions = {},
): Promise<TestHost> {
  const portCalls: PortCall[] = [];
  const auditEntries: AuditEntry[] = [];
  const messages: unknown[] = [];
  const write = (message: string): void => void messages.push(message);
  const log: Log = { info: write, warn: write, error: write };
  const host = {
    settings: await settingsOf(extension, options.settings ?? {}),
    log,
    ports: portsOf(extension.needs ?? [], options.ports ?? {}, portCalls),
  } as Host<Settings, Needs>;
  const contributions = await extension.setup(host);
  const visitors = new Visitors();
  const recordAudit = (action: string, record: ChangeRecord): void =>
    void auditEntries.push({ action: `ext.${extension.id}.${action}`, record });
  const extensionModule = contributions.module as Type | undefined;
  const module: DynamicModule = {
    module: TestHostModule,
    global: true,
    imports: extensionModule === undefined ? [] : [extensionModule],
    providers: [
      { provide: HOST, useValue: host },
      { provide: APP_GUARD, useValue: new TestGuard(visitors) },
      { provide: APP_PIPE, useValue: new TestPipe() },
      { provide: APP_INTERCEPTOR, useValue: new TestInterceptor(recordAudit) },
      { provide: APP_FILTER, useValue: new TestFilter((error) => messages.push(error)) },
    ],
    exports: [HOST],
  };
  const app: INestApplication = await NestFactory.create(module, { logger: false, abortOnError: false });
  await app.init();
  return {
    contributions,
    module,
    server: app.getHttpServer() as Server,
    portCalls,
    auditEntries,
    log: messages,
    signedIn(reader = {}) {
      const session = `session-${visitors.readers.size + 1}`;
      visitors.readers.set(session, { ...readerWith(options.texts ?? {}), ...reader });
      return { cookie: `svc_session=${session}`, 'sec-fetch-site': 'same-origin' };
    },
    withKey(key = {}) {
      const text = `svc_test_${visitors.callers.size + 1}`;
      visitors.callers.set(text, { ...anyKey, ...key });
      return { authorization: `Bearer ${text}` };
    },
    close: () => app.close(),
  };
}

class TestHostModule {}

const anyKey: RequestKey = { id: 1, userId: 1, organisationId: null, departmentId: null, projectId: null };

const readerWith = (texts: Readonly<Record<string, string>>): Reader => ({
  id: 1,
  name: 'Ada',
  email: 'ada@example.org',
  role: 'user',
  organisationId: null,
  departmentId: null,
  scope: { kind: 'user', userId: 1 },
  language: 'en',
  timeZone: 'UTC',
  text: (key, values = {}) =>
    (texts[key] ?? key).replaceAll(/\{\{(\w+)\}\}/g, (placeholder, name: string) =>
      String(values[name] ?? placeholder),
    ),
});

async function settingsOf<Settings, Needs extends Need>(
  { id, settings: schema }: Extension<Settings, Needs>,
  input: Readonly<Record<string, string>>,
): Promise<Settings | undefined> {
  if (schema === undefined) return undefined;
  const result = await schema['~standard'].validate(input);
  if (result.issues === undefined) return result.value;
  throw new Error(`settings of ${id}: ${result.issues.map(({ message }) => message).join('; ')}`);
}

/** Creates every method of the needed ports, as named by the contract's types. */
function portsOf(needs: readonly Need[], doubles: PortDoubles, calls: PortCall[]): object {
  const portOf = (port: Need): object =>
    Object.fromEntries(
      portMethods[port].map((method) => [
        method,
        async (...values: unknown[]): Promise<unknown> => {
          calls.push({ port, method, values });
          const double = Reflect.get(doubles[port] ?? {}, method) as
            ((...given: unknown[]) => unknown) | undefined;
          if (double === undefined) throw new Error(`the test says nothing of ${port}.${method}()`);
          return await double(...values);
        },
      ]),
    );
  return Object.fromEntries(needs.map((need) => [need, portOf(need)]));
}
