import { randomBytes } from 'node:crypto';
import { Ledger } from '#product/billing';
import { UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp, type TestAppOptions } from '../../support/app';
import { signIn } from '../../support/users';
import { deliver, ProcessorSimulator } from '../../../simulator/processor/processor-simulator';

export interface Payer {
  readonly userId: number;
  readonly cookie: string;
}

interface PaymentResponse {
  readonly status: number;
  // Untyped, because tests match it against expectations.
  readonly body: ReturnType<typeof JSON.parse>;
}

/** A service with a simulated payment processor; tests deliver the events explicitly. */
export class PaymentFixture {
  private constructor(
    readonly app: TestApp,
    readonly simulator: ProcessorSimulator,
  ) {}

  static async start(
    environment: Readonly<Record<string, string>> = {},
    options: Pick<TestAppOptions, 'sandboxUrl'> = {},
  ): Promise<PaymentFixture> {
    const simulator = await ProcessorSimulator.start();
    const app = await startTestApp({ ...options, environment: { ...simulator.environment, ...environment } });
    return new PaymentFixture(app, simulator);
  }

  async payer(account: Partial<UserAccount> & { role?: UserRole } = {}): Promise<Payer> {
    const accounts = this.app.database.source.getRepository(UserAccount);
    const name = randomBytes(6).toString('hex');
    const user = accounts.create({
      email: `${name}@example.com`,
      displayName: name,
      status: 'active',
      ...account,
    });
    await accounts.insert(user);
    return { userId: user.id, cookie: await signIn(this.app, user.id) };
  }

  async send(method: string, path: string, payer: Payer | null, json?: unknown): Promise<PaymentResponse> {
    return this.raw(method, path, payer, json === undefined ? undefined : JSON.stringify(json));
  }

  async raw(method: string, path: string, payer: Payer | null, body?: string): Promise<PaymentResponse> {
    const response = await fetch(`${this.app.url}${path}`, {
      method,
      headers: {
        ...(payer === null ? {} : { cookie: payer.cookie }),
        ...(method === 'GET' ? {} : { origin: this.app.url, 'sec-fetch-site': 'same-origin' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : { text } };
  }

  /** Starts a top-up and returns the processor's session id. */
  async checkout(payer: Payer, amount: number): Promise<string> {
    const { status, body } = await this.send('POST', '/api/billing/checkout', payer, { amount });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return String(body['url']).split('/').at(-1) ?? '';
  }

  /** Completes a paid top-up, delivers its events and returns the payment intent. */
  async topUp(payer: Payer, amount: number, card?: string): Promise<string> {
    const session = await this.checkout(payer, amount);
    this.simulator.account.pay(session, card);
    await this.deliverAll();
    return String(this.simulator.account.sessions.get(session)?.['payment_intent']);
  }

  /** Delivers all pending events in the order in which they occurred. */
  async deliverAll(): Promise<number[]> {
    const statuses: number[] = [];
    for (const event of this.simulator.account.events.splice(0)) {
      statuses.push((await deliver(this.app.url, event)).status);
    }
    return statuses;
  }

  async balance({ userId }: Payer): Promise<bigint> {
    return (await this.app.application.get(Ledger, { strict: false }).wallet(userId)).balance;
  }

  rows<PaymentFixtureRow>(sql: string, values: unknown[] = []): Promise<PaymentFixtureRow[]> {
    return this.app.database.query<PaymentFixtureRow>(sql, values);
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.simulator.stop();
  }
}
