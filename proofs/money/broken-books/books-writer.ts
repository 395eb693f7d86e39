import { randomUUID } from 'node:crypto';
import { executeCommand } from '#inside/commands/run-command';
import { UserAccount } from '#product/identity';
import { platformScope, type UserRole } from '#product/kernel';
import { KeysService, type NewKey } from '#product/keys';
import { startTestApp, type TestApp } from '../../../test/support/app';
import { signIn } from '../../../test/support/users';
import type { TestDatabase } from '../../../test/support/postgres';
import { startSimulator } from '../../../test/support/simulator';
import { makeScratchFolder } from '../../../test/support/scratch';
import { deliver, ProcessorSimulator } from '../../../simulator/processor/processor-simulator';

export interface BooksUser {
  readonly id: number;
  readonly cookie: string;
}

/** Writes books through the product's own operations: its pages, API and commands. */
export abstract class BooksWriter {
  constructor(
    protected readonly app: TestApp,
    protected readonly processor: ProcessorSimulator,
    protected readonly database: TestDatabase,
  ) {}

  abstract write(): Promise<void>;

  protected async merge(
    operator: BooksUser,
    target: number,
    source: number,
    payer: BooksUser,
  ): Promise<void> {
    await this.post(operator, '/dashboard/admin/organisations/merge', {
      target_org_id: String(target),
      source_org_ids: String(source),
      billing_user_id: String(payer.id),
    });
  }

  /** Refunds on the payments page, as an operator does. */
  protected async refund(operator: BooksUser, intent: string, amount: string): Promise<void> {
    const [row] = await this.app.database.query<{ public_id: string }>(
      'SELECT public_id FROM payment WHERE payment_intent_id = $1',
      [intent],
    );
    await this.post(operator, `/dashboard/admin/billing/payments/${row?.public_id ?? ''}/refund`, {
      amount,
      reason: 'as agreed',
      token: randomUUID(),
    });
    await this.deliverAll();
  }

  protected async adjust(
    operator: BooksUser,
    { id }: BooksUser,
    amount: string,
    direction: 'credit' | 'debit',
  ): Promise<void> {
    await this.post(operator, '/dashboard/admin/billing/adjust', {
      ...{ amount, direction, reason: 'a courtesy', token: randomUUID(), user_id: String(id) },
    });
  }

  protected async promotion(operator: BooksUser, person: BooksUser, amount: string): Promise<string> {
    const { id } = await this.post(operator, '/dashboard/admin/promotions', {
      ...{ name: 'Hello', scope: 'user', user_id: person.id, amount },
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    return String(id);
  }

  /** Reprices all records of one price with another, as after a catalogue mistake. */
  protected async rerate(): Promise<void> {
    const [prices] = await this.app.database.query<{ low: number; high: number }>(
      'SELECT min(price_id) AS low, max(price_id) AS high FROM request_record WHERE cost_nano > 0',
    );
    const { low = 0, high = 0 } = prices ?? {};
    if (low === high) return;
    const args = ['--from', '2020-01-01', '--to', '2100-01-01', '--price', `${low}=${high}`, '--apply'];
    const code = await executeCommand(['money:rerate', ...args], {
      environment: {
        ...{ NODE_ENV: 'test', LOG_LEVEL: 'silent', DATA_FOLDER: makeScratchFolder('books-') },
        ...{ DATABASE_URL: this.database.url, MIGRATION_DATABASE_URL: this.database.ownerUrl },
      },
      write: () => undefined,
      writeStderr: () => undefined,
      confirm: () => Promise.resolve(false),
    });
    if (code !== 0) throw new Error('prices could not be corrected');
  }

  protected async createUser(
    name: string,
    role: UserRole,
    organisationId: number | null = null,
  ): Promise<BooksUser> {
    const userRepository = this.app.database.source.getRepository(UserAccount);
    const user = userRepository.create({
      email: `${name}@example.com`,
      displayName: name,
      status: 'active',
      role,
      organisationId,
    });
    await userRepository.insert(user);
    return { id: user.id, cookie: await signIn(this.app, user.id) };
  }

  protected async organisation(operator: BooksUser, name: string): Promise<number> {
    return Number((await this.post(operator, '/dashboard/admin/organisations', { name, slug: name }))['id']);
  }

  protected async makePayer(organisation: number, person: BooksUser): Promise<void> {
    await this.app.database.query('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisation,
      person.id,
    ]);
  }

  protected key(
    person: BooksUser,
    organisationId: number | null,
    projectId: number | null,
    limits: Partial<NewKey>,
  ): Promise<string> {
    return this.app.database.transaction(async (tx) => {
      const issuedKey = await this.app.application
        .get(KeysService, { strict: false })
        .issue(platformScope, tx, {
          ...{ userId: person.id, organisationId, departmentId: null, projectId },
          ...limits,
          ...{ kind: 'client', name: 'filled', createdBy: 'proof' },
        });
      return issuedKey.text;
    });
  }

  protected async call(
    key: string,
    rest: object,
    text: string,
    allowed: readonly number[] = [200],
  ): Promise<void> {
    const response = await fetch(`${this.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ max_tokens: 300, messages: [{ role: 'user', content: text }], ...rest }),
    });
    const answer = await response.text();
    if (!allowed.includes(response.status))
      throw new Error(`a call was refused: ${response.status} ${answer}`);
  }

  protected async topUp(payer: BooksUser, amount: number): Promise<string> {
    const { url } = await this.post(payer, '/api/billing/checkout', { amount });
    const session = String(url).split('/').at(-1) ?? '';
    this.processor.account.pay(session);
    await this.deliverAll();
    return String(this.processor.account.sessions.get(session)?.['payment_intent']);
  }

  protected async deliverAll(): Promise<void> {
    for (const event of this.processor.account.events.splice(0)) await deliver(this.app.url, event);
  }

  protected async post(by: BooksUser, path: string, json: object): Promise<Record<string, unknown>> {
    const response = await fetch(this.app.url + path, {
      method: 'POST',
      headers: {
        ...{ cookie: by.cookie, origin: this.app.url, 'sec-fetch-site': 'same-origin' },
        'content-type': 'application/json',
      },
      body: JSON.stringify(json),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
    return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
  }
}

type BooksWriterClass = new (
  app: TestApp,
  processor: ProcessorSimulator,
  database: TestDatabase,
) => BooksWriter;

/** Runs the service on a database while its books are being written. */
export async function writeBooks(
  database: TestDatabase,
  writerOf: (...parts: ConstructorParameters<BooksWriterClass>) => BooksWriter,
): Promise<void> {
  const supplier = await startSimulator();
  const processor = await ProcessorSimulator.start();
  const app = await startTestApp({
    sandboxUrl: supplier.url,
    sharedDatabase: database,
    environment: processor.environment,
  });
  try {
    await writerOf(app, processor, database).write();
  } finally {
    await app.close();
    await processor.stop();
    await supplier.stop();
  }
}
