import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '#inside/boot/packages';
import { SMTPServer } from 'smtp-server';
import { ConfigModule, loadSettings } from '#inside/platform/config/index';
import { Logger, LoggingModule } from '#inside/platform/logging/index';
import { type Mail, Mailer, MailModule, Outbox } from '#inside/platform/mail/index';
import { DatabaseModule } from '#inside/platform/database/index';
import { MailTransport } from '#inside/platform/mail/mail-transport';
import { MetricsModule } from '#inside/platform/metrics/index';
import { QueueModule, QueueSupervisor } from '#inside/platform/queue/index';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { until } from '../../support/until';

interface ReceivedMail {
  from: string;
  to: string[];
  text: string;
}

/** An SMTP server that stores emails and can refuse the first deliveries. */
class SmtpTestServer {
  readonly received: ReceivedMail[] = [];
  refusals = 0;
  private arrivals: (() => void)[] = [];
  private readonly server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, session, done) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (part: string) => (text += part));
      stream.on('end', () => {
        if (this.refusals-- > 0) return done(Object.assign(new Error('try later'), { responseCode: 451 }));
        const from = session.envelope.mailFrom ? session.envelope.mailFrom.address : '';
        this.received.push({ from, to: session.envelope.rcptTo.map(({ address }) => address), text });
        for (const notifyArrival of this.arrivals) notifyArrival();
        done();
      });
    },
  });

  async open(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return `smtp://127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }

  async waitForMails(count: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`${this.received.length} mails of ${count}`)), 15_000);
    const check = (): void => (this.received.length >= count ? resolve() : undefined);
    this.arrivals.push(check);
    check();
    await promise.finally(() => clearTimeout(timer));
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

const mail: Mail = {
  to: 'anna@example.com',
  subject: 'Grüße – verify your address',
  text: 'Open https://x/verify?a=1',
  html: '<p>Open <a href="https://x/verify?a=1">this</a></p>',
};

let database: TestDatabase;
let folder: string;
let app: INestApplicationContext | undefined;
const postbox = new SmtpTestServer();
let smtpUrl: string;

beforeAll(async () => {
  [database, smtpUrl] = await Promise.all([createTestDatabase(), postbox.open()]);
});
afterAll(() => Promise.all([database.drop(), postbox.close()]));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'switchboard-mail-'));
  postbox.received.length = 0;
});
afterEach(async () => {
  await app?.close();
  app = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function boot(env: Record<string, string>): Promise<{ mailer: Mailer; outbox: Outbox }> {
  const settings = loadSettings({ DATA_FOLDER: folder, MAIL_FROM: 'Switchboard <robot@board.test>', ...env });
  const logger = Logger.create({ logLevel: 'silent', logFormat: 'json' });
  const imports = [
    ConfigModule.forRoot(settings),
    LoggingModule.forRoot(logger),
    MetricsModule.forRoot({ version: '0', commit: '0' }),
    DatabaseModule.forRoot({ url: database.url, entities: [] }),
    QueueModule.forRoot({ databaseUrl: database.url }),
    MailModule.forRoot(),
  ];
  app = await NestFactory.createApplicationContext(
    { module: class MailTrial {}, imports },
    { logger: false },
  );
  app.get(QueueSupervisor).startWorkers();
  return { mailer: app.get(Mailer), outbox: app.get(Outbox) };
}

test('an email reaches the server as text and HTML', async () => {
  const { mailer } = await boot({ SMTP_URL: smtpUrl });
  await mailer.send({ ...mail, id: 'verify-1' });
  await postbox.waitForMails(1);
  const [received] = postbox.received;
  expect(received).toMatchObject({ from: 'robot@board.test', to: ['anna@example.com'] });
  expect(received?.text).toMatch(/^From: Switchboard <robot@board.test>\r?$/m);
  expect(received?.text).toMatch(/^To: (<)?anna@example.com(>)?\r?$/m);
  expect(received?.text).toMatch(/^Message-ID: <verify-1@board.test>\r?$/m);
  expect(received?.text).toMatch(/^Subject: =\?UTF-8\?/m);
  expect(received?.text).toContain('multipart/alternative');
  expect(received?.text).toContain('text/plain');
  expect(received?.text).toContain('text/html');
});

test('a delivery is retried if the server is busy, and the email is sent once', async () => {
  const { mailer } = await boot({ SMTP_URL: smtpUrl });
  postbox.refusals = 1;
  for (let n = 0; n < 3; n++) await mailer.send({ ...mail, id: 'reset-7' });
  await postbox.waitForMails(1);
  await mailer.send({ ...mail, id: 'reset-7' });
  await mailer.send({ ...mail, subject: 'last', id: 'reset-8' });
  await postbox.waitForMails(2);
  expect(postbox.received.map(({ text }) => /^Message-ID: <(.*?)@/m.exec(text)?.[1])).toEqual([
    'reset-7',
    'reset-8',
  ]);
});

test.each<[string, Partial<Mail>]>([
  ['a line break in the subject', { subject: 'hello\r\nBcc: eve@example.com' }],
  ['a bare line feed in the subject', { subject: 'hello\nBcc: eve@example.com' }],
  ['a line break in the address', { to: 'anna@example.com\r\nBcc: eve@example.com' }],
  ['two addresses', { to: 'anna@example.com, eve@example.com' }],
  ['a name around the address', { to: '"eve@example.com" <anna@example.com>' }],
  ['a group', { to: 'all:anna@example.com;' }],
  ['no address', { to: 'anna' }],
  ['an endless subject', { subject: 'x'.repeat(1_000) }],
])('an email with %s is refused before it is queued', async (_, part) => {
  const { mailer } = await boot({ SMTP_URL: smtpUrl, WORKERS: 'off' });
  await expect(mailer.send({ ...mail, ...part })).rejects.toThrow(RangeError);
  const transport = new MailTransport({ smtpUrl, mailFrom: 'a@b', dataFolder: folder }, new Outbox(folder));
  await expect(transport.deliver({ ...mail, ...part })).rejects.toThrow(RangeError);
  await transport.close();
  expect(postbox.received).toEqual([]);
});

test('an unresponsive server does not block a delivery forever', async () => {
  const silentServer = createServer().listen(0, '127.0.0.1');
  await once(silentServer, 'listening');
  const { port } = silentServer.address() as AddressInfo;
  const transportOptions = { smtpUrl: `smtp://127.0.0.1:${port}`, mailFrom: 'a@b', dataFolder: folder };
  const transport = new MailTransport(transportOptions, new Outbox(folder), 100);
  await expect(transport.deliver(mail)).rejects.toThrow(/greeting/i);
  await transport.close();
  silentServer.close();
});

describe('Mail without a server', () => {
  test('is written to the outbox', async () => {
    const { mailer, outbox } = await boot({});
    const arrivedMails = waitForOutbox(outbox, 1);
    await mailer.send(mail);
    const [listed] = await arrivedMails;
    expect(listed).toMatchObject({ ...mail, from: 'Switchboard <robot@board.test>', at: expect.any(String) });
    expect(await outbox.read(listed?.id ?? '')).toEqual(listed);
  });

  test('is limited in the outbox to the newest emails, and the outbox serves no other files', async () => {
    const outbox = new Outbox(folder);
    expect(await outbox.list()).toEqual([]);
    writeFileSync(join(folder, 'secrets.json'), '{}');
    await outbox.write('a@b', mail);
    for (let n = 0; n < 505; n++) {
      writeFileSync(
        join(folder, 'outbox', `2000${String(n).padStart(4, '0')}-old.json`),
        '{"subject":"old"}',
      );
    }
    await outbox.write('a@b', { ...mail, subject: 'newest' });
    expect(readdirSync(join(folder, 'outbox'))).toHaveLength(500);
    expect((await outbox.list())[0]?.subject).toBe('newest');
    for (const id of ['../secrets', '..%2fsecrets', 'absent', '', '/etc/passwd', 'a/b']) {
      expect([id, await outbox.read(id)]).toEqual([id, undefined]);
    }
  });
});

async function waitForOutbox(outbox: Outbox, count: number) {
  await until(async () => (await outbox.list()).length >= count);
  return outbox.list();
}
