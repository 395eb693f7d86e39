import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ledger } from '#product/billing';
import { serialiseRecord } from '#product/audit';
import { FrameBuffer } from '#inside/billing/engine/settlement/journal-frames';
import { journalHeader } from '#inside/billing/engine/settlement/journal-owner';
import { uuidv7 } from '#product/kernel';
import { Mailer } from '#product/platform';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { ProcessorSimulator } from '../../../simulator/processor/processor-simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { makeScratchFolder } from '../../support/scratch';

export const CREDIT = 10_000_000_000n;
export const COST_BEFORE = 1_000_000n;
export const COST_AFTER = 5_000_000n;

/** An installation that was in service, lost and restored: its folder, its database and the interim records. */
export class RestoredFixture {
  readonly folder = makeScratchFolder('switchboard-restored-');
  readonly before = new Date(Date.now() - 3_600_000);
  readonly moment = new Date(Date.now() - 1_800_000);
  readonly after = new Date(Date.now() - 900_000);
  apps: TestApp[] = [];
  owner = 0;
  administrator = 0;
  key = { id: 0, publicId: '', text: '' };
  formerCookie = '';
  checkout = '';

  private constructor(
    readonly database: TestDatabase,
    readonly simulator: ProcessorSimulator,
  ) {}

  /** Open state at the loss: sessions, an invitation, an email, a top-up, and a journal with two charges. */
  static async open(): Promise<RestoredFixture> {
    const fixture = new RestoredFixture(await createTestDatabase(), await ProcessorSimulator.start());
    const app = await fixture.start({ WORKERS: 'off' });
    fixture.owner = await addUser(app, 'platform_owner');
    fixture.administrator = await addUser(app, 'platform_admin');
    fixture.key = await addKey(app, fixture.owner);
    const ledger = app.application.get(Ledger, { strict: false });
    await app.database.transaction((tx) =>
      ledger.post(tx, {
        walletId: fixture.owner,
        amount: CREDIT,
        against: 'adjustment',
        kind: 'topup',
        ref: 'x',
      }),
    );
    fixture.formerCookie = await signIn(app, fixture.owner);
    await app.application
      .get(Mailer, { strict: false })
      .send({ to: 'somebody@example.com', subject: 'Before', text: 'It may have been sent.', id: 'before' });
    await fixture.beginTopUp(app);
    await app.close();
    fixture.leaveJournal();
    return fixture;
  }

  /** Writes the marker that the restore command leaves. */
  markRestored(): void {
    const mark = {
      version: 1,
      backup: 'base-0007',
      moment: this.moment.toISOString(),
      restoredAt: new Date().toISOString(),
    };
    writeFileSync(join(this.folder, 'restored.json'), JSON.stringify(mark));
  }

  async start(environment: Readonly<Record<string, string>> = {}): Promise<TestApp> {
    const app = await startTestApp({
      sharedDatabase: this.database,
      environment: { DATA_FOLDER: this.folder, ...this.simulator.environment, ...environment },
    });
    this.apps.push(app);
    return app;
  }

  get heldJournals(): string[] {
    const folder = join(this.folder, 'set-aside');
    return existsSync(folder) ? readdirSync(folder).sort() : [];
  }

  async close(): Promise<void> {
    for (const app of this.apps) await app.close();
    await this.simulator.stop();
    await this.database.drop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async beginTopUp(app: TestApp): Promise<void> {
    const response = await fetch(`${app.url}/api/billing/checkout`, {
      method: 'POST',
      headers: {
        cookie: this.formerCookie,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ amount: 10 }),
    });
    const { url = '' } = (await response.json()) as { url?: string };
    // Paid after the backup; its event went to the lost installation.
    this.simulator.account.pay(url.split('/').at(-1) ?? '');
    this.simulator.account.events.splice(0);
  }

  private leaveJournal(): void {
    const frames = new FrameBuffer();
    frames.add(JSON.stringify({ ...(JSON.parse(journalHeader('lost-node')) as object), pid: 2 ** 22 + 1 }));
    const facts = { keyId: this.key.id, userId: this.owner, walletId: this.owner };
    const charges = [
      { at: this.before, costNano: COST_BEFORE },
      { at: this.after, costNano: COST_AFTER },
    ];
    for (const { at, costNano } of charges)
      frames.add(serialiseRecord(uuidv7(), at.getTime(), ordinaryOutcome({ ...facts, costNano })).text);
    mkdirSync(join(this.folder, 'journal'), { recursive: true });
    writeFileSync(join(this.folder, 'journal', 'lost-node.1.journal'), frames.content);
  }
}
