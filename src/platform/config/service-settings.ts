import 'reflect-metadata';
import {
  byteSize,
  duration,
  email,
  file,
  folder,
  oneOf,
  publicOrigin,
  sender,
  serviceUrl,
  text,
  toggle,
  trustedProxies,
  wholeNumber,
} from './readers';
import { Setting } from './setting.decorator';

const timeOut = duration('100ms', '24h');
const createdSecret = 'created in the data folder, except in production with DATABASE_URL';

export abstract class ServiceSettings {
  @Setting({
    name: 'NODE_ENV',
    group: 'General',
    describe: 'Production refuses placeholder secrets; a public BASE_URL is production in any case.',
    as: oneOf('development', 'production', 'test'),
    default: 'development',
  })
  readonly environment: 'development' | 'production' | 'test';

  @Setting({
    name: 'BRAND_NAME',
    group: 'General',
    describe: 'The name people see on pages and in mails.',
    as: text('a name of at most 60 characters', (value) => value.length <= 60),
    default: 'Switchboard',
  })
  readonly brandName: string;

  @Setting({
    name: 'DATA_FOLDER',
    group: 'General',
    describe: 'Where the embedded database, created secrets and the mail outbox live.',
    as: folder,
    default: '.data',
  })
  readonly dataFolder: string;

  @Setting({
    name: 'LEGAL_FOLDER',
    group: 'General',
    describe:
      'A folder with your own legal texts, such as terms.md and terms.de.md, in place of the templates (docs/portal.md).',
    as: folder,
    unset: 'the templates that come with the product',
  })
  readonly legalFolder?: string;

  @Setting({
    name: 'DOCUMENT_FONT',
    group: 'General',
    describe: 'A TrueType or OpenType font for receipts, with letters that the built-in one lacks.',
    as: file,
    unset: 'DejaVu Sans: Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic',
  })
  readonly documentFont?: string;

  @Setting({
    name: 'SECURITY_CONTACT',
    group: 'General',
    describe:
      'Whom /.well-known/security.txt names for reports of weaknesses: a mail address or an https page.',
    as: text('a mail address or an https address', (value) =>
      /^(https:\/\/|[^\s@<>]+@)[^\s@<>]+$/.test(value),
    ),
    unset: 'the page /legal/security',
  })
  readonly securityContact?: string;

  @Setting({
    name: 'BOOTSTRAP_OWNER_EMAIL',
    group: 'General',
    describe: 'Who becomes platform owner on the first boot.',
    as: email,
    default: 'owner@localhost',
  })
  readonly bootstrapOwnerEmail: string;

  @Setting({
    name: 'SANDBOX',
    group: 'General',
    describe:
      'The built-in pretend supplier: auto runs it beside the embedded database until a real one is configured.',
    as: oneOf('auto', 'on', 'off'),
    default: 'auto',
  })
  readonly sandbox: 'auto' | 'on' | 'off';

  @Setting({
    name: 'FIRST_KEYS',
    group: 'General',
    describe:
      "Where the first start puts its keys and the owner's link: output prints them; file writes them to first-start.txt in DATA_FOLDER, because logs keep what is printed. auto takes the file under systemd; the image sets file.",
    as: oneOf('auto', 'file', 'output'),
    default: 'auto',
  })
  readonly firstKeys: 'auto' | 'file' | 'output';

  @Setting({
    name: 'HOST',
    group: 'Server',
    describe: 'The address to listen on; 0.0.0.0 for every interface.',
    as: text('an address or a host name', (value) => /^[\w.:-]+$/.test(value)),
    default: '127.0.0.1',
  })
  readonly host: string;

  @Setting({
    name: 'PORT',
    group: 'Server',
    describe: 'The port to listen on; 0 takes a free one.',
    as: wholeNumber(0, 65_535),
    default: '3000',
  })
  readonly port: number;

  @Setting({
    name: 'BASE_URL',
    group: 'Server',
    describe: 'The address the outside uses; links in mails and sign-in start with it.',
    as: publicOrigin,
    unset: 'http://localhost and the port',
  })
  readonly baseUrl: string;

  @Setting({
    name: 'TRUST_PROXY',
    group: 'Server',
    describe: 'Which proxies may say who the caller is (X-Forwarded-For).',
    as: trustedProxies,
    default: 'loopback',
  })
  readonly trustProxy: string | number | false;

  @Setting({
    name: 'BODY_LIMIT',
    group: 'Server',
    describe: 'The largest request body below /v1.',
    as: byteSize('1KiB', '1GiB'),
    default: '32MiB',
  })
  readonly bodyLimitBytes: number;

  @Setting({
    name: 'PORTAL_BODY_LIMIT',
    group: 'Server',
    describe: 'The largest request body of the portal.',
    as: byteSize('1KiB', '64MiB'),
    default: '1MiB',
  })
  readonly portalBodyLimitBytes: number;

  @Setting({
    name: 'OPEN_REQUESTS_LIMIT',
    group: 'Server',
    describe: 'The most inference requests one process has under way; the next is refused at once (503).',
    as: wholeNumber(1, 1_000_000),
    default: '2000',
  })
  readonly openRequestsLimit: number;

  @Setting({
    name: 'CLIENT_STALL_TIMEOUT',
    group: 'Server',
    describe:
      'How long a caller may take none of an answer that waits for it; then the connection is closed.',
    as: timeOut,
    default: '60s',
  })
  readonly clientStallTimeoutMs: number;

  @Setting({
    name: 'PUBLIC_REQUESTS_PER_MINUTE',
    group: 'Server',
    describe: 'How many requests for what everybody may see one address (IPv6: one /64 network) may make.',
    as: wholeNumber(1, 1_000_000),
    default: '600',
  })
  readonly publicRequestsPerMinute: number;

  @Setting({
    name: 'DRAIN_TIMEOUT',
    group: 'Server',
    describe: 'How long open streams may run on after the service was asked to stop.',
    as: duration('0s', '1h'),
    default: '60s',
  })
  readonly drainTimeoutMs: number;

  @Setting({
    name: 'DRAIN_NOTICE',
    group: 'Server',
    describe:
      'How much of that time new requests are still served while /health/ready already fails. Behind a balancer: as long as it takes to notice, failures × (interval + timeout).',
    as: duration('0s', '5m'),
    default: '0s',
  })
  readonly drainNoticeMs: number;

  @Setting({
    name: 'ACCEPT_ANY_CONTENT_TYPE',
    group: 'Server',
    describe:
      'Read request bodies below /v1 as JSON whatever their content-type says, for clients that send none or another. Otherwise the answer is 415.',
    as: toggle,
    default: 'false',
  })
  readonly acceptAnyContentType: boolean;

  @Setting({
    name: 'LEAN_ADAPTER',
    group: 'Server',
    describe: 'Serve /v1 in front of Express. Only a suspected fault in it is a reason to switch it off.',
    as: toggle,
    default: 'true',
  })
  readonly leanAdapter: boolean;

  @Setting({
    name: 'DATABASE_URL',
    group: 'Database',
    describe: 'PostgreSQL 15 or newer, as the role that serves requests.',
    as: serviceUrl('postgres:', 'postgresql:'),
    unset: 'the embedded PostgreSQL',
    secret: true,
  })
  readonly databaseUrl?: string;

  @Setting({
    name: 'MIGRATION_DATABASE_URL',
    group: 'Database',
    describe: 'The same database as the role that may change its schema.',
    as: serviceUrl('postgres:', 'postgresql:'),
    unset: 'DATABASE_URL',
    secret: true,
  })
  readonly migrationDatabaseUrl?: string;

  @Setting({
    name: 'DATABASE_POOL_SIZE',
    group: 'Database',
    describe: 'The most connections one process keeps to the database; the queue has its own.',
    as: wholeNumber(2, 500),
    default: '20',
  })
  readonly databasePoolSize: number;

  @Setting({
    name: 'APPLY_TIMEOUT',
    group: 'Database',
    describe:
      'How long a change waits until it is in force on the node that made it; after that its response carries x-svc-applied: pending.',
    as: duration('10ms', '1m'),
    default: '1s',
  })
  readonly applyTimeoutMs: number;

  @Setting({
    name: 'REDIS_URL',
    group: 'Queue',
    describe: 'Moves queue and rate counters to Redis, which more than one node needs.',
    as: serviceUrl('redis:', 'rediss:'),
    unset: 'both are kept in PostgreSQL',
    secret: true,
  })
  readonly redisUrl?: string;

  @Setting({
    name: 'WORKERS',
    group: 'Queue',
    describe: 'Whether this process also works on queued jobs, or leaves them to others.',
    as: oneOf('inline', 'off'),
    default: 'inline',
  })
  readonly workers: 'inline' | 'off';

  @Setting({
    name: 'SETTLE_ACK',
    group: 'Queue',
    describe: 'When the last byte of an answer may leave: once its record is journalled, or committed.',
    as: oneOf('journal', 'commit'),
    default: 'journal',
  })
  readonly settleAck: 'journal' | 'commit';

  @Setting({
    name: 'SESSION_SECRET',
    group: 'Secrets',
    describe: 'Signs session cookies; a change signs everybody out.',
    as: text(),
    unset: createdSecret,
    secret: true,
  })
  readonly sessionSecret: string;

  @Setting({
    name: 'KEY_PEPPER',
    group: 'Secrets',
    describe: 'Goes into the hash of every API key; no key is known with another one, which a start refuses.',
    as: text(),
    unset: createdSecret,
    secret: true,
  })
  readonly keyPepper: string;

  @Setting({
    name: 'MASTER_KEY',
    group: 'Secrets',
    describe: 'Encrypts supplier credentials; without it they cannot be read again.',
    as: text(),
    unset: createdSecret,
    secret: true,
  })
  readonly masterKey: string;

  @Setting({
    name: 'KEY_RATE_LIMIT_RPM',
    group: 'Keys',
    describe: 'How many requests a minute a key may make that has no limit of its own.',
    as: wholeNumber(1, 1_000_000),
    default: '60',
  })
  readonly keyRateLimitRpm: number;

  @Setting({
    name: 'WEBCHAT_BUDGET',
    group: 'Keys',
    describe:
      'How many dollars a month a person may spend in the web chat, beside all other limits; 0 sets none.',
    as: wholeNumber(0, 1_000_000),
    default: '20',
  })
  readonly webchatBudgetUsd: number;

  @Setting({
    name: 'KEY_FAILURES_PER_MINUTE',
    group: 'Keys',
    describe: 'How many wrong keys one address (IPv6: one /64 network) may try before it is told to wait.',
    as: wholeNumber(1, 1_000_000),
    default: '60',
  })
  readonly keyFailuresPerMinute: number;

  @Setting({
    name: 'ACCOUNT_FREE_ATTEMPTS',
    group: 'Accounts',
    describe:
      'How many sign-ins, or requests for a mail, one account may try in an hour; each one after that makes the next wait longer, up to 15 minutes.',
    as: wholeNumber(1, 1_000_000),
    default: '5',
  })
  readonly accountFreeAttempts: number;

  @Setting({
    name: 'ADDRESS_FREE_ATTEMPTS',
    group: 'Accounts',
    describe: 'The same for one address (IPv6: one /64 network), whatever the accounts.',
    as: wholeNumber(1, 1_000_000),
    default: '50',
  })
  readonly addressFreeAttempts: number;

  @Setting({
    name: 'SMTP_URL',
    group: 'Mail',
    describe: 'The mail server, such as smtps://user:word@mail.example.com.',
    as: serviceUrl('smtp:', 'smtps:'),
    unset: 'mails are written to the outbox in the data folder',
    secret: true,
  })
  readonly smtpUrl?: string;

  @Setting({
    name: 'MAIL_FROM',
    group: 'Mail',
    describe: 'The sender of every mail.',
    as: sender,
    default: 'Switchboard <no-reply@localhost>',
  })
  readonly mailFrom: string;
}
