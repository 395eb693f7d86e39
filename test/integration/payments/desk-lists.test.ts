import { type Payer, PaymentHouse } from './payment-house';

describe('the lists of the operators’ desk', () => {
  let house: PaymentHouse;
  let payer: Payer;
  let operator: Payer;

  beforeAll(async () => {
    house = await PaymentHouse.start();
    operator = await house.payer({ role: 'platform_admin' });
    payer = await house.payer();
  });
  afterAll(() => house.close());

  const page = (query: string): Promise<Response> =>
    fetch(`${house.app.url}/dashboard/admin/billing${query}`, {
      headers: { cookie: operator.cookie, accept: 'text/html' },
    });
  const paymentOf = async (one: Payer): Promise<string> =>
    (await house.send('GET', '/api/billing/payments', one)).body['data'][0].id as string;

  test('the desk pages through payments and the quarantine, and finds a payment by its IDs', async () => {
    const intent = await house.topUp(payer, 10);
    const id = await paymentOf(payer);
    await house.rows(
      `INSERT INTO payment (public_id, wallet_id, kind, live_mode, net_cents, fee_cents, gross_cents)
       SELECT gen_random_uuid(), $1, 'checkout', false, 500, 27, 527 FROM generate_series(1, 50)`,
      [payer.userId],
    );
    await house.rows(
      `INSERT INTO processor_event (event_id, type, outcome, problem, received_at)
       SELECT 'evt_paged_' || n, 'charge.refunded', 'quarantined', 'payment', now() - n * interval '1 minute'
         FROM generate_series(1, 60) n`,
    );
    const older = (html: string, name: string): string => {
      const read = html.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&');
      return (
        new RegExp(`href="/dashboard/admin/billing([^"]*\\b${name}=[^"]*)" rel="next"`).exec(read)?.[1] ?? ''
      );
    };
    const first = await (await page(`?q=${payer.userId}`)).text();
    expect(first).not.toContain(id);
    expect(await (await page(older(first, 'cursor'))).text()).toContain(id);
    expect(first).not.toContain('evt_paged_60');
    expect(await (await page(older(first, 'events'))).text()).toContain('evt_paged_60');
    for (const words of [id, intent]) expect(await (await page(`?q=${words}`)).text()).toContain(id);
  });
});
