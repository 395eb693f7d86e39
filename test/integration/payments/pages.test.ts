import { inflateSync } from 'node:zlib';
import { WalletHistory } from '#product/billing';
import { deliver } from '../../../simulator/processor/processor-simulator';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;

/** Returns the characters of the embedded fonts, or an empty text if there are none. */
function embeddedCharacters(pdf: Buffer): string {
  const text = pdf.toString('latin1');
  const streams = [...text.matchAll(/stream\n([\s\S]*?)\nendstream/g)].flatMap(([, bytes = '']) => {
    try {
      return [inflateSync(Buffer.from(bytes, 'latin1')).toString('latin1')];
    } catch {
      return [];
    }
  });
  const maps = streams.filter((stream) => stream.includes('begincmap'));
  const points = maps.flatMap((map) =>
    [...map.matchAll(/\[([^\]]*)\]/g)].flatMap(([, list = '']) => list.match(/[0-9a-f]{4}/g) ?? []),
  );
  return String.fromCodePoint(...points.map((point) => Number.parseInt(point, 16)));
}

/** Returns the text that a document prints with the standard fonts. */
function printedText(pdf: Buffer): string {
  const streams = [...pdf.toString('latin1').matchAll(/stream\n([\s\S]*?)\nendstream/g)].map(
    ([, bytes = '']) => inflateSync(Buffer.from(bytes, 'latin1')).toString('latin1'),
  );
  const lines = streams.join('\n').match(/\[[^\]]*\] TJ/g) ?? [];
  return lines
    .map((line) =>
      [...line.matchAll(/<([0-9a-f]*)>/g)]
        .map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1'))
        .join(''),
    )
    .join('\n');
}

describe('Billing pages', () => {
  let fixture: PaymentFixture;
  let payer: Payer;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
  });
  beforeEach(async () => {
    payer = await fixture.payer();
  });
  afterAll(() => fixture.close());

  const get = (path: string, reader: Payer = payer): Promise<Response> =>
    fetch(fixture.app.url + path, {
      headers: { cookie: reader.cookie, accept: 'text/html' },
      redirect: 'manual',
    });
  const text = async (path: string, one: Payer = payer): Promise<string> => (await get(path, one)).text();
  const submit = (path: string, form: Record<string, string>): Promise<Response> =>
    fetch(fixture.app.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: payer.cookie, accept: 'text/html', origin: fixture.app.url },
      body: new URLSearchParams(form),
    });

  /** Records a day of usage as settlements do: posted in the ledger and summed by hour. */
  async function recordUsage(owner: Payer, day: string, nano: bigint): Promise<void> {
    await fixture.app.database.transaction((tx) =>
      tx.query(`SELECT money_credit($1, $2, 'adjustment', 'usage-of-a-day', $3)`, [
        owner.userId,
        (-nano).toString(),
        `${owner.userId}-${day}`,
      ]),
    );
  }

  test('the overview shows the fee before payment', async () => {
    const page = await text('/dashboard/billing?amount=100');
    for (const expectedText of ['$100.00', '$5.27', '$105.27', 'Test mode.'])
      expect(page).toContain(expectedText);
    expect(await text('/dashboard/billing?amount=1')).toContain('role="alert"');
  });

  test('a saved card is named with the spelling of its brand', async () => {
    await fixture.topUp(payer, 10);
    expect(await text('/dashboard/billing')).toContain('Visa •••• 4242');
  });

  test('a form redirects to the processor through a portal page, and is shown again after an error', async () => {
    const answer = await submit('/api/billing/checkout', { amount: '50.00' });
    expect(answer.status).toBe(200);
    const refresh = answer.headers.get('refresh') ?? '';
    expect(refresh).toMatch(new RegExp(`^0; url=${fixture.simulator.url}/c/pay/cs_test_`));
    expect(await answer.text()).toContain(refresh.slice('0; url='.length));
    const invalidResponse = await submit('/api/billing/checkout', { amount: '3' });
    expect([invalidResponse.status, invalidResponse.headers.get('location')]).toEqual([
      303,
      '/dashboard/billing',
    ]);
  });

  test('the return page waits for the event and credits nothing itself', async () => {
    const session = await fixture.checkout(payer, 10);
    fixture.simulator.account.pay(session);
    const successUrl = String(fixture.simulator.account.sessions.get(session)?.['success_url']);
    const path = new URL(successUrl).pathname + new URL(successUrl).search;
    const waitingResponse = await get(path);
    expect(waitingResponse.headers.get('refresh')).toBe('2');
    const waitingPage = await waitingResponse.text();
    for (const expectedText of ['Payment received, crediting…', 'Test mode.'])
      expect(waitingPage).toContain(expectedText);
    expect(await fixture.balance(payer)).toBe(0n);
    await fixture.deliverAll();
    const creditedResponse = await get(path);
    expect(creditedResponse.headers.get('refresh')).toBeNull();
    expect(await creditedResponse.text()).toContain('$10.00 was added to the wallet.');
    expect((await get(path, await fixture.payer())).status).toBe(404);
  });

  test('payments and the ledger with running balance are available as pages and files', async () => {
    const intent = await fixture.topUp(payer, 30);
    await fixture.topUp(payer, 20);
    fixture.simulator.account.refundsAndDisputes.refund(intent);
    await fixture.deliverAll();
    const payments = await text('/dashboard/billing/payments');
    for (const expectedText of ['$31.58', '$21.06', 'refunded', 'credited'])
      expect(payments).toContain(expectedText);
    const ledger = await text('/dashboard/billing/ledger/export');
    const lines = ledger.trim().split('\r\n');
    expect(lines[0]).toBe('at,kind,reference,requests,amount_usd,balance_usd');
    expect(lines.slice(1).map((line) => line.split(',').slice(-2).map(Number))).toEqual([
      [-30, 20],
      [20, 50],
      [30, 30],
    ]);
    expect((await text('/dashboard/billing/payments/export')).split('\r\n')).toHaveLength(4);
    const page = await text('/dashboard/billing/ledger');
    expect(page).toContain('Refund');
    expect(page).toContain('-$30.00');
  });

  test('the newest ledger line shows the wallet balance', async () => {
    await fixture.topUp(payer, 30);
    await recordUsage(payer, '1', 5n * USD);
    const { rows } = await fixture.app.application
      .get(WalletHistory, { strict: false })
      .page(payer.userId, { limit: 1 });
    expect(rows[0]?.balance).toBe(await fixture.balance(payer));
    expect(rows[0]?.balance).toBe(25n * USD);
  });

  test('a statement starts with the opening balance and ends with the closing balance', async () => {
    await fixture.topUp(payer, 30);
    const page = await text('/dashboard/billing/statements');
    expect(page).toContain('Opening balance');
    for (const expectedText of ['$30.00', 'Test mode.']) expect(page).toContain(expectedText);
    const earlierExport = await text('/dashboard/billing/statements/export?from=2020-01-01&to=2020-01-31');
    expect(earlierExport).toContain('closing,2020-02-01T00:00:00.000Z,,,0');
    for (const invalidQuery of ['from=2020-02-30', 'from=2020-02-10&to=2020-02-01', 'from=yesterday']) {
      expect((await get(`/dashboard/billing/statements?${invalidQuery}`)).status).toBe(422);
    }
  });

  test('receipts and statements are PDF files with the invoice details, and unavailable to other users', async () => {
    await fixture.topUp(payer, 30);
    const details = {
      name: 'Müller & Søn GmbH',
      address: 'Hauptstraße 1\r\n8000 Zürich',
      tax_id: 'CHE-123.456.789',
    };
    const saveResponse = await submit('/dashboard/billing/invoice-details', details);
    expect([saveResponse.status, saveResponse.headers.get('location')]).toEqual([303, '/dashboard/billing']);
    expect(await text('/dashboard/billing')).toContain('CHE-123.456.789');
    const { body } = await fixture.send('GET', '/api/billing/payments', payer);
    const receipt = `/dashboard/billing/receipts/${body['data'][0].id}`;
    for (const path of [receipt, '/dashboard/billing/statements/pdf']) {
      const file = await get(path);
      expect(file.headers.get('content-type')).toBe('application/pdf');
      expect(
        Buffer.from(await file.arrayBuffer())
          .subarray(0, 5)
          .toString(),
      ).toBe('%PDF-');
    }
    expect((await get(receipt, await fixture.payer())).status).toBe(404);
    expect((await submit('/dashboard/billing/invoice-details', { tax_id: '<script>' })).status).toBe(422);
  });

  test('a statement prints the price factors valid in its period', async () => {
    const [acme] = await fixture.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Factor Ltd', 'factor-' || gen_random_uuid()) RETURNING id`,
    );
    const organisationId = acme?.id ?? 0;
    const person = await fixture.payer({ organisationId });
    const statement = async (span = ''): Promise<[page: string, csv: string]> => {
      const readText = async (path: string): Promise<string> => (await get(`${path}${span}`, person)).text();
      return [
        await readText('/dashboard/billing/statements'),
        await readText('/dashboard/billing/statements/export'),
      ];
    };
    await fixture.rows(
      `INSERT INTO organisation_markup (organisation_id, factor, valid_from)
       VALUES ($1, 900000, '2020-01-01T00:00:00Z'), ($1, 1000000, '2020-02-01T00:00:00Z'), ($1, 1125000, '2020-03-01T00:00:00Z')`,
      [organisationId],
    );
    // There is no usage yet, so no factor has been applied.
    expect((await statement()).join('')).not.toContain('× ');
    await fixture.rows(
      `INSERT INTO request_record (request_id, created_at, wallet_id, organisation_id, surface, model, served_model,
         supplier, usage_source, cost_nano, status, stream, failover, latency_ms, calls)
       SELECT gen_random_uuid(), made, $1, $2, 'chat', 'm', 'm', 'north', 'reported', 0, 200, false, false, 9, 1
         FROM unnest(ARRAY[now(), '2020-02-10T00:00:00Z'::timestamptz]) made`,
      [person.userId, organisationId],
    );
    const [page, csv] = await statement();
    expect(page).toContain('× 1.125');
    expect(page).toContain('until further notice');
    expect(csv).toMatch(/^price_factor,2020-03-01T00:00:00\.000Z,Factor Ltd,,,1\.125/m);
    expect(csv).not.toContain('0.9\r');
    // The full price was valid throughout this period.
    expect((await statement('?from=2020-02-05&to=2020-02-20')).join('')).not.toContain('× ');
    const pdf = await get('/dashboard/billing/statements/pdf', person);
    expect(embeddedCharacters(Buffer.from(await pdf.arrayBuffer()))).toEqual(expect.any(String));
  });

  test.each(['active', 'suspended', 'deleted'])(
    'documents of a user who is %s are available to administrators and the payer, and to nobody else',
    async (status) => {
      const [acme, other] = await fixture.rows<{ id: number }>(
        `INSERT INTO organisation (name, slug)
       SELECT 'Acme', 'docs-' || gen_random_uuid() FROM generate_series(1, 2) RETURNING id`,
      );
      const organisationId = acme?.id ?? 0;
      const person = await fixture.payer({ organisationId });
      await fixture.topUp(person, 30);
      const { body } = await fixture.send('GET', '/api/billing/payments', person);
      await fixture.rows('UPDATE user_account SET status = $2 WHERE id = $1', [person.userId, status]);
      const wallet = `wallet=${person.userId}`;
      const paths = [
        `/dashboard/billing/receipts/${body['data'][0].id}`,
        `/dashboard/billing/statements/pdf?${wallet}`,
        `/dashboard/billing/statements/export?${wallet}`,
      ];
      const statuses = async (reader: Payer): Promise<number[]> =>
        Promise.all(paths.map(async (path) => (await get(path, reader)).status));
      const repeated = (code: number): number[] => paths.map(() => code);
      expect(await statuses(await fixture.payer({ role: 'platform_admin' }))).toEqual(repeated(200));
      expect(await statuses(await fixture.payer({ organisationId, role: 'org_owner' }))).toEqual(
        repeated(200),
      );
      for (const stranger of [
        await fixture.payer({ organisationId: other?.id ?? 0, role: 'org_owner' }),
        await fixture.payer({ organisationId, role: 'org_admin' }),
        await fixture.payer({ organisationId }),
      ])
        expect(await statuses(stranger)).toEqual(repeated(404));
      if (status === 'deleted') return;
      expect(await statuses(person)).toEqual(repeated(200));
      if (status === 'active') return;
      const notice = await text('/account/suspended', person);
      for (const path of [
        paths[0],
        '/dashboard/billing/statements/pdf',
        '/dashboard/billing/statements/export',
      ])
        expect(notice).toContain(`"${path}"`);
      expect((await get('/dashboard/billing/statements/pdf', person)).status).toBe(200);
      expect((await get('/dashboard/billing', person)).status).not.toBe(200);
    },
  );

  test('a suspended administrator cannot read the documents of other users', async () => {
    const otherPayer = await fixture.payer();
    await fixture.topUp(otherPayer, 30);
    const { body } = await fixture.send('GET', '/api/billing/payments', otherPayer);
    const admin = await fixture.payer({ role: 'platform_admin' });
    await fixture.rows("UPDATE user_account SET status = 'suspended' WHERE id = $1", [admin.userId]);
    for (const path of [
      `/dashboard/billing/receipts/${body['data'][0].id}`,
      `/dashboard/billing/statements/pdf?wallet=${otherPayer.userId}`,
      `/dashboard/billing/statements/export?wallet=${otherPayer.userId}`,
    ])
      expect([path, (await get(path, admin)).status]).toEqual([path, 404]);
  });

  test('documents mark test money by the mode of the payment, not of the current key', async () => {
    await fixture.topUp(payer, 30);
    const { body } = await fixture.send('GET', '/api/billing/payments', payer);
    const documents = () =>
      Promise.all(
        [`/dashboard/billing/receipts/${body['data'][0].id}`, '/dashboard/billing/statements/pdf'].map(
          async (path) => printedText(Buffer.from(await (await get(path)).arrayBuffer())),
        ),
      );
    for (const text of await documents()) expect(text).toContain('test cards');
    await fixture.rows('UPDATE payment SET live_mode = true WHERE wallet_id = $1', [payer.userId]);
    for (const text of await documents()) expect(text).not.toContain('test cards');
    await fixture.rows('UPDATE payment SET live_mode = false WHERE wallet_id = $1', [payer.userId]);
  });

  test('names in any script are printed with an embedded font', async () => {
    const charactersFor = async (name: string): Promise<string> => {
      await submit('/dashboard/billing/invoice-details', { name, address: '', tax_id: '' });
      const { body } = await fixture.send('GET', '/api/billing/payments', payer);
      const file = await get(`/dashboard/billing/receipts/${body['data'][0].id}`);
      return embeddedCharacters(Buffer.from(await file.arrayBuffer()));
    };
    await fixture.topUp(payer, 30);
    expect(await charactersFor('Zoë Brontë')).toBe('');
    const name = 'Łucja Żółkiewska, Ελένη, Владимир';
    const characters = await charactersFor(name);
    expect([...name].filter((letter) => !characters.includes(letter))).toEqual([]);
    const mixedCharacters = await charactersFor('Ł 山');
    expect([
      mixedCharacters.includes('Ł'),
      mixedCharacters.includes('山'),
      mixedCharacters.includes('?'),
    ]).toEqual([true, false, true]);
  });

  test('a member whose organisation pays sees the payer and no wallet', async () => {
    const [organisation] = await fixture.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    const owner = await fixture.payer({ organisationId, role: 'org_owner', displayName: 'Ada Owner' });
    const member = await fixture.payer({ organisationId, role: 'user' });
    await fixture.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      owner.userId,
    ]);
    await fixture.topUp(owner, 10);
    const page = await text('/dashboard/billing', member);
    expect(page).toContain('Ada Owner pays for you');
    expect(page).not.toContain('$10.00');
    for (const path of ['payments', 'ledger', 'ledger/export', 'statements', 'statements/pdf']) {
      expect((await get(`/dashboard/billing/${path}`, member)).status).toBe(403);
    }
  });

  test("a user's own wallet stays accessible while another account pays", async () => {
    const [organisation] = await fixture.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Own', $1) RETURNING id`,
      [`own-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    await fixture.topUp(payer, 10);
    const rule = { enabled: true, threshold: 5, amount: 50, monthly_ceiling: 100 };
    expect((await fixture.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
    const owner = await fixture.payer({ organisationId, role: 'org_owner' });
    await fixture.rows('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
      payer.userId,
      organisationId,
    ]);
    await fixture.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      owner.userId,
    ]);
    await fixture.topUp(owner, 20);
    const payerPage = await text('/dashboard/billing');
    for (const expectedText of ['pays for you', '$10.00', '/dashboard/billing?own'])
      expect(payerPage.replaceAll('&#x3D;', '=')).toContain(expectedText);
    const ownPage = (await text('/dashboard/billing?own=1')).replaceAll('&#x3D;', '=');
    expect(ownPage).toContain('Visa •••• 4242');
    expect(ownPage).not.toContain('action="/api/billing/checkout"');
    const action = /action="([^"]*\/delete\?own=1)"/.exec(ownPage)?.[1] ?? '';
    const stopResponse = await submit('/api/billing/auto-topup?own=1', {});
    expect([stopResponse.status, stopResponse.headers.get('location')]).toEqual([
      303,
      '/dashboard/billing?own=1',
    ]);
    expect((await submit(action, {})).status).toBe(303);
    const [account] = await fixture.rows<{ automatic: boolean; cards: string }>(
      `SELECT automatic, (SELECT count(*)::text FROM payment_method m
                           WHERE m.wallet_id = a.wallet_id AND removed_at IS NULL) AS cards
         FROM billing_account a WHERE wallet_id = $1`,
      [payer.userId],
    );
    expect(account).toEqual({ automatic: false, cards: '0' });
    for (const path of ['payments', 'ledger', 'ledger/export', 'statements', 'statements/pdf']) {
      expect((await get(`/dashboard/billing/${path}?own=1`)).status).toBe(200);
      expect((await get(`/dashboard/billing/${path}`)).status).toBe(403);
    }
    // The payer's own page does not depend on the parameter.
    expect(await text('/dashboard/billing?own=1', owner)).toContain('action="/api/billing/checkout"');
  });

  test('a balance due is shown', async () => {
    const intent = await fixture.topUp(payer, 10);
    await recordUsage(payer, '1', 4n * USD);
    fixture.simulator.account.refundsAndDisputes.refund(intent);
    for (const event of fixture.simulator.account.events.splice(0)) await deliver(fixture.app.url, event);
    expect(await text('/dashboard/billing')).toContain('The wallet is in debt.');
  });
});
