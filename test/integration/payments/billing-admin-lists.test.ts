import { type Payer, PaymentFixture } from './payment-fixture';

describe('Lists of the billing administration', () => {
  let fixture: PaymentFixture;
  let payer: Payer;
  let operator: Payer;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
    operator = await fixture.payer({ role: 'platform_admin' });
    payer = await fixture.payer();
  });
  afterAll(() => fixture.close());

  const page = (query: string): Promise<Response> =>
    fetch(`${fixture.app.url}/dashboard/admin/billing${query}`, {
      headers: { cookie: operator.cookie, accept: 'text/html' },
    });
  const paymentOf = async (owner: Payer): Promise<string> =>
    (await fixture.send('GET', '/api/billing/payments', owner)).body['data'][0].id as string;

  test('payments and the quarantine are paginated, and a payment is found by its ids', async () => {
    const intent = await fixture.topUp(payer, 10);
    const id = await paymentOf(payer);
    await fixture.rows(
      `INSERT INTO payment (public_id, wallet_id, kind, live_mode, net_cents, fee_cents, gross_cents)
       SELECT gen_random_uuid(), $1, 'checkout', false, 500, 27, 527 FROM generate_series(1, 50)`,
      [payer.userId],
    );
    await fixture.rows(
      `INSERT INTO processor_event (event_id, type, outcome, problem, received_at)
       SELECT 'evt_paged_' || n, 'charge.refunded', 'quarantined', 'payment', now() - n * interval '1 minute'
         FROM generate_series(1, 60) n`,
    );
    const olderLink = (html: string, name: string): string => {
      const decoded = html.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&');
      return (
        new RegExp(`href="/dashboard/admin/billing([^"]*\\b${name}=[^"]*)" rel="next"`).exec(decoded)?.[1] ??
        ''
      );
    };
    const firstPage = await (await page(`?q=${payer.userId}`)).text();
    expect(firstPage).not.toContain(id);
    expect(await (await page(olderLink(firstPage, 'cursor'))).text()).toContain(id);
    expect(firstPage).not.toContain('evt_paged_60');
    expect(await (await page(olderLink(firstPage, 'events'))).text()).toContain('evt_paged_60');
    for (const words of [id, intent]) expect(await (await page(`?q=${words}`)).text()).toContain(id);
  });
});
