import { inflateSync } from 'node:zlib';
import { WalletHistory } from '#product/billing';
import { deliver } from '../../../simulator/processor/processor-simulator';
import { addUser, signIn } from '../../support/people';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;

/** The fonts inside a document name these letters; the text is empty where there are none. */
function lettersInside(pdf: Buffer): string {
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

/** A document prints this with the standard fonts. */
function printed(pdf: Buffer): string {
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

describe('the pages of billing', () => {
  let house: PaymentHouse;
  let payer: Payer;

  beforeAll(async () => {
    house = await PaymentHouse.start();
  });
  beforeEach(async () => {
    payer = await house.payer();
  });
  afterAll(() => house.close());

  const get = (path: string, one: Payer = payer): Promise<Response> =>
    fetch(house.app.url + path, { headers: { cookie: one.cookie, accept: 'text/html' }, redirect: 'manual' });
  const text = async (path: string, one: Payer = payer): Promise<string> => (await get(path, one)).text();
  const submit = (path: string, form: Record<string, string>): Promise<Response> =>
    fetch(house.app.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: payer.cookie, accept: 'text/html', origin: house.app.url },
      body: new URLSearchParams(form),
    });

  /** A day of usage, as settlements leave it: booked in the ledger and summed by hours. */
  async function use(one: Payer, day: string, nano: bigint): Promise<void> {
    await house.app.database.transaction((tx) =>
      tx.query(`SELECT money_credit($1, $2, 'adjustment', 'usage-of-a-day', $3)`, [
        one.userId,
        (-nano).toString(),
        `${one.userId}-${day}`,
      ]),
    );
  }

  test('the overview works the fee out before anybody pays', async () => {
    const page = await text('/dashboard/billing?amount=100');
    for (const shown of ['$100.00', '$5.27', '$105.27', 'Test mode.']) expect(page).toContain(shown);
    expect(await text('/dashboard/billing?amount=1')).toContain('role="alert"');
  });

  test('a saved card is named as its brand writes itself', async () => {
    await house.topUp(payer, 10);
    expect(await text('/dashboard/billing')).toContain('Visa •••• 4242');
  });

  test('a form leads to the page of the processor by a page of ours, and back to the form when it was mistyped', async () => {
    const answer = await submit('/api/billing/checkout', { amount: '50.00' });
    expect(answer.status).toBe(200);
    const refresh = answer.headers.get('refresh') ?? '';
    expect(refresh).toMatch(new RegExp(`^0; url=${house.simulator.url}/c/pay/cs_test_`));
    expect(await answer.text()).toContain(refresh.slice('0; url='.length));
    const mistyped = await submit('/api/billing/checkout', { amount: '3' });
    expect([mistyped.status, mistyped.headers.get('location')]).toEqual([303, '/dashboard/billing']);
  });

  test('the return page waits for the event and credits nothing itself', async () => {
    const session = await house.checkout(payer, 10);
    house.simulator.account.pay(session);
    const back = String(house.simulator.account.sessions.get(session)?.['success_url']);
    const path = new URL(back).pathname + new URL(back).search;
    const waiting = await get(path);
    expect(waiting.headers.get('refresh')).toBe('2');
    const waitingPage = await waiting.text();
    for (const shown of ['Payment received, crediting…', 'Test mode.']) expect(waitingPage).toContain(shown);
    expect(await house.balance(payer)).toBe(0n);
    await house.deliverAll();
    const credited = await get(path);
    expect(credited.headers.get('refresh')).toBeNull();
    expect(await credited.text()).toContain('$10.00 was added to the wallet.');
    expect((await get(path, await house.payer())).status).toBe(404);
  });

  test('payments and the ledger with its running balance, as pages and as files', async () => {
    const intent = await house.topUp(payer, 30);
    await house.topUp(payer, 20);
    house.simulator.account.back.refund(intent);
    await house.deliverAll();
    const payments = await text('/dashboard/billing/payments');
    for (const shown of ['$31.58', '$21.06', 'refunded', 'credited']) expect(payments).toContain(shown);
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

  test('the newest line of the ledger leaves what the wallet holds', async () => {
    await house.topUp(payer, 30);
    await use(payer, '1', 5n * USD);
    const { rows } = await house.app.application
      .get(WalletHistory, { strict: false })
      .page(payer.userId, { limit: 1 });
    expect(rows[0]?.balance).toBe(await house.balance(payer));
    expect(rows[0]?.balance).toBe(25n * USD);
  });

  test('a statement begins with the balance before it and ends with the one after it', async () => {
    await house.topUp(payer, 30);
    const page = await text('/dashboard/billing/statements');
    expect(page).toContain('Opening balance');
    for (const shown of ['$30.00', 'Test mode.']) expect(page).toContain(shown);
    const earlier = await text('/dashboard/billing/statements/export?from=2020-01-01&to=2020-01-31');
    expect(earlier).toContain('closing,2020-02-01T00:00:00.000Z,,,0');
    for (const wrong of ['from=2020-02-30', 'from=2020-02-10&to=2020-02-01', 'from=yesterday']) {
      expect((await get(`/dashboard/billing/statements?${wrong}`)).status).toBe(422);
    }
  });

  test('receipts and statements are PDF, say what was given for them, and are nobody else’s', async () => {
    await house.topUp(payer, 30);
    const details = {
      name: 'Müller & Søn GmbH',
      address: 'Hauptstraße 1\r\n8000 Zürich',
      tax_id: 'CHE-123.456.789',
    };
    const saved = await submit('/dashboard/billing/invoice-details', details);
    expect([saved.status, saved.headers.get('location')]).toEqual([303, '/dashboard/billing']);
    expect(await text('/dashboard/billing')).toContain('CHE-123.456.789');
    const { body } = await house.send('GET', '/api/billing/payments', payer);
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
    expect((await get(receipt, await house.payer())).status).toBe(404);
    expect((await submit('/dashboard/billing/invoice-details', { tax_id: '<script>' })).status).toBe(422);
  });

  test('a statement prints the price factors that held in its span', async () => {
    const [acme] = await house.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Factor Ltd', 'factor-' || gen_random_uuid()) RETURNING id`,
    );
    const organisationId = acme?.id ?? 0;
    const person = await house.payer({ organisationId });
    const statement = async (span = ''): Promise<[page: string, csv: string]> => {
      const read = async (path: string): Promise<string> => (await get(`${path}${span}`, person)).text();
      return [
        await read('/dashboard/billing/statements'),
        await read('/dashboard/billing/statements/export'),
      ];
    };
    await house.rows(
      `INSERT INTO organisation_markup (organisation_id, factor, valid_from)
       VALUES ($1, 900000, '2020-01-01T00:00:00Z'), ($1, 1000000, '2020-02-01T00:00:00Z'), ($1, 1125000, '2020-03-01T00:00:00Z')`,
      [organisationId],
    );
    // Nothing was used yet, so that nothing was paid by a factor.
    expect((await statement()).join('')).not.toContain('× ');
    await house.rows(
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
    // The whole price held all through this span.
    expect((await statement('?from=2020-02-05&to=2020-02-20')).join('')).not.toContain('× ');
    const pdf = await get('/dashboard/billing/statements/pdf', person);
    expect(lettersInside(Buffer.from(await pdf.arrayBuffer()))).toEqual(expect.any(String));
  });

  test.each(['active', 'suspended', 'deleted'])('documents of a person who is %s', async (status) => {
    const [acme, other] = await house.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug)
       SELECT 'Acme', 'docs-' || gen_random_uuid() FROM generate_series(1, 2) RETURNING id`,
    );
    const organisationId = acme?.id ?? 0;
    const person = await house.payer({ organisationId });
    await house.topUp(person, 30);
    const { body } = await house.send('GET', '/api/billing/payments', person);
    await house.rows('UPDATE user_account SET status = $2 WHERE id = $1', [person.userId, status]);
    const wallet = `wallet=${person.userId}`;
    const paths = [
      `/dashboard/billing/receipts/${body['data'][0].id}`,
      `/dashboard/billing/statements/pdf?${wallet}`,
      `/dashboard/billing/statements/export?${wallet}`,
    ];
    const statuses = async (reader: Payer): Promise<number[]> =>
      Promise.all(paths.map(async (path) => (await get(path, reader)).status));
    const all = (code: number): number[] => paths.map(() => code);
    expect(await statuses(await house.payer({ role: 'platform_admin' }))).toEqual(all(200));
    expect(await statuses(await house.payer({ organisationId, role: 'org_owner' }))).toEqual(all(200));
    for (const stranger of [
      await house.payer({ organisationId: other?.id ?? 0, role: 'org_owner' }),
      await house.payer({ organisationId, role: 'org_admin' }),
      await house.payer({ organisationId }),
    ])
      expect(await statuses(stranger)).toEqual(all(404));
    if (status === 'deleted') return;
    expect(await statuses(person)).toEqual(all(200));
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
  });

  test('an administrator who is suspended reads the documents of no one else', async () => {
    const other = await house.payer();
    await house.topUp(other, 30);
    const { body } = await house.send('GET', '/api/billing/payments', other);
    const admin = await house.payer({ role: 'platform_admin' });
    await house.rows("UPDATE user_account SET status = 'suspended' WHERE id = $1", [admin.userId]);
    for (const path of [
      `/dashboard/billing/receipts/${body['data'][0].id}`,
      `/dashboard/billing/statements/pdf?wallet=${other.userId}`,
      `/dashboard/billing/statements/export?wallet=${other.userId}`,
    ])
      expect([path, (await get(path, admin)).status]).toEqual([path, 404]);
  });

  test('documents tell test money from genuine money by the payment, whatever the key of today', async () => {
    await house.topUp(payer, 30);
    const { body } = await house.send('GET', '/api/billing/payments', payer);
    const documents = () =>
      Promise.all(
        [`/dashboard/billing/receipts/${body['data'][0].id}`, '/dashboard/billing/statements/pdf'].map(
          async (path) => printed(Buffer.from(await (await get(path)).arrayBuffer())),
        ),
      );
    for (const text of await documents()) expect(text).toContain('test cards');
    await house.rows('UPDATE payment SET live_mode = true WHERE wallet_id = $1', [payer.userId]);
    for (const text of await documents()) expect(text).not.toContain('test cards');
    await house.rows('UPDATE payment SET live_mode = false WHERE wallet_id = $1', [payer.userId]);
  });

  test('names of any letters print, with a font inside that knows them', async () => {
    const lettersOf = async (name: string): Promise<string> => {
      await submit('/dashboard/billing/invoice-details', { name, address: '', tax_id: '' });
      const { body } = await house.send('GET', '/api/billing/payments', payer);
      const file = await get(`/dashboard/billing/receipts/${body['data'][0].id}`);
      return lettersInside(Buffer.from(await file.arrayBuffer()));
    };
    await house.topUp(payer, 30);
    expect(await lettersOf('Zoë Brontë')).toBe('');
    const name = 'Łucja Żółkiewska, Ελένη, Владимир';
    const letters = await lettersOf(name);
    expect([...name].filter((letter) => !letters.includes(letter))).toEqual([]);
    const mixed = await lettersOf('Ł 山');
    expect([mixed.includes('Ł'), mixed.includes('山'), mixed.includes('?')]).toEqual([true, false, true]);
  });

  test('a member whose organisation pays is told who does, and sees nothing of the wallet', async () => {
    const [organisation] = await house.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Acme', $1) RETURNING id`,
      [`acme-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    const owner = await house.payer({ organisationId, role: 'org_owner', displayName: 'Ada Owner' });
    const member = await house.payer({ organisationId, role: 'user' });
    await house.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      owner.userId,
    ]);
    await house.topUp(owner, 10);
    const page = await text('/dashboard/billing', member);
    expect(page).toContain('Ada Owner pays for you');
    expect(page).not.toContain('$10.00');
    for (const path of ['payments', 'ledger', 'ledger/export', 'statements', 'statements/pdf']) {
      expect((await get(`/dashboard/billing/${path}`, member)).status).toBe(403);
    }
  });

  test('a wallet of one’s own stays in reach while another one pays', async () => {
    const [organisation] = await house.rows<{ id: number }>(
      `INSERT INTO organisation (name, slug) VALUES ('Own', $1) RETURNING id`,
      [`own-${payer.userId}`],
    );
    const organisationId = organisation?.id ?? 0;
    await house.topUp(payer, 10);
    const rule = { enabled: true, threshold: 5, amount: 50, monthly_ceiling: 100 };
    expect((await house.send('POST', '/api/billing/auto-topup', payer, rule)).status).toBe(200);
    const owner = await house.payer({ organisationId, role: 'org_owner' });
    await house.rows('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
      payer.userId,
      organisationId,
    ]);
    await house.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
      organisationId,
      owner.userId,
    ]);
    await house.topUp(owner, 20);
    const elsewhere = await text('/dashboard/billing');
    for (const shown of ['pays for you', '$10.00', '/dashboard/billing?own'])
      expect(elsewhere.replaceAll('&#x3D;', '=')).toContain(shown);
    const own = (await text('/dashboard/billing?own=1')).replaceAll('&#x3D;', '=');
    expect(own).toContain('Visa •••• 4242');
    expect(own).not.toContain('action="/api/billing/checkout"');
    const action = /action="([^"]*\/delete\?own=1)"/.exec(own)?.[1] ?? '';
    const stopped = await submit('/api/billing/auto-topup?own=1', {});
    expect([stopped.status, stopped.headers.get('location')]).toEqual([303, '/dashboard/billing?own=1']);
    expect((await submit(action, {})).status).toBe(303);
    const [account] = await house.rows<{ automatic: boolean; cards: string }>(
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
    // The payer's own page is the same either way.
    expect(await text('/dashboard/billing?own=1', owner)).toContain('action="/api/billing/checkout"');
  });

  test('a debt is told', async () => {
    const intent = await house.topUp(payer, 10);
    await use(payer, '1', 4n * USD);
    house.simulator.account.back.refund(intent);
    for (const event of house.simulator.account.events.splice(0)) await deliver(house.app.url, event);
    expect(await text('/dashboard/billing')).toContain('The wallet is in debt.');
  });
});

test('without a key the operator reads how to connect one, customers a sentence, and nothing pretends to be paid', async () => {
  const house = await PaymentHouse.start({ PROCESSOR_SECRET_KEY: '' });
  try {
    const payer = await house.payer();
    const read = async (cookie: string): Promise<string> =>
      (await fetch(`${house.app.url}/dashboard/billing`, { headers: { cookie } })).text();
    const operator = await read(await signIn(house.app, await addUser(house.app, 'platform_admin')));
    expect(operator).toContain('PROCESSOR_SECRET_KEY');
    expect(operator).toContain('stripe listen --forward-to');
    const text = await read(payer.cookie);
    expect(text).toContain('Ask the operator or your administrator to add credit');
    expect(text).not.toMatch(/PROCESSOR|stripe|npm run/);
    const asked = await house.send('POST', '/api/billing/checkout', payer, { amount: 10 });
    expect(JSON.stringify(asked.body)).not.toContain('PROCESSOR');
    expect(text).not.toContain('action="/api/billing/checkout"');
    const config = await house.send('GET', '/api/billing/processor-config', payer);
    expect(config.body).toMatchObject({ connected: false, publishable_key: null });
  } finally {
    await house.close();
  }
});
