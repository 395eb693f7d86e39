import { randomUUID } from 'node:crypto';
import { formsOf } from '../../support/page-forms';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;
const desk = '/dashboard/admin/billing';

describe('a refund whose answer is lost', () => {
  let house: PaymentHouse;
  let payer: Payer;
  let operator: Payer;
  let intent: string;
  let path: string;

  beforeAll(async () => {
    house = await PaymentHouse.start();
    operator = await house.payer({ role: 'platform_admin' });
  });
  beforeEach(async () => {
    payer = await house.payer();
    intent = await house.topUp(payer, 30);
    const { body } = await house.send('GET', '/api/billing/payments', payer);
    path = `${desk}/payments/${body['data'][0].id}/refund`;
  });
  afterAll(() => house.close());

  const page = async (): Promise<string> => {
    const answer = await fetch(`${house.app.url}${desk}`, {
      headers: { cookie: operator.cookie, accept: 'text/html' },
    });
    return answer.text();
  };
  const submit = async (path: string, form: Record<string, string>) => {
    const response = await fetch(`${house.app.url}${path}`, {
      method: 'POST',
      headers: {
        cookie: operator.cookie,
        accept: 'text/html',
        origin: house.app.url,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
      redirect: 'manual',
      body: new URLSearchParams({ _page: desk, ...form }).toString(),
    });
    return { status: response.status, html: await response.text() };
  };
  const fieldsOf = (html: string, path: string): Record<string, string> => {
    const form = formsOf(html).find(({ action }) => action === path);
    return Object.fromEntries((form?.fields ?? []).map(({ name, value }) => [name, value]));
  };
  const refunds = (intent: string) =>
    [...house.simulator.account.refunds.values()].filter((one) => one['payment_intent'] === intent).length;

  test('is made once, whether the form comes back or the page is read anew', async () => {
    const form = { ...fieldsOf(await page(), path), amount: '10.00', reason: 'asked' };
    house.simulator.lostAnswers = 3;
    const lost = await submit(path, form);
    expect([lost.status, refunds(intent)]).toEqual([503, 1]);
    expect(lost.html).toContain('so this refund may have been made');
    expect(fieldsOf(lost.html, path)).toMatchObject(form);
    // Another amount could be a second refund, so the first has to be answered.
    const fresh = { ...fieldsOf(await page(), path), reason: 'asked' };
    const other = await submit(path, { ...fresh, amount: '5.00' });
    expect([other.status, refunds(intent)]).toEqual([409, 1]);
    expect(other.html).toContain('A refund of 10.00 USD was ordered and is not answered yet');
    expect((await submit(path, { ...fresh, amount: '10.00' })).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    // The form that was lost, once more: it is carried out by now.
    expect((await submit(path, form)).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    await house.deliverAll();
    expect(await house.balance(payer)).toBe(30n * USD - (30n * USD * 1000n) / 3158n);
    expect(
      await house.rows(
        `SELECT reason FROM activity WHERE action = 'billing.refund-ordered' AND user_id = $1`,
        [payer.userId],
      ),
    ).toEqual([{ reason: 'asked' }]);
  });

  test('is known by its event, so that the form once more changes nothing, and an equal one is new', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    house.simulator.lostAnswers = 3;
    expect((await submit(path, form)).status).toBe(503);
    await house.deliverAll();
    expect((await submit(path, form)).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    expect((await submit(path, { ...form, token: randomUUID() })).status).toBe(303);
    expect(refunds(intent)).toBe(2);
    expect(await house.balance(payer)).toBe(30n * USD - (30n * USD * 2000n) / 3158n);
  });

  // "Two equal refund forms at once are ambiguous".
  test('is made once for a form that is sent twice at once', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    const both = await Promise.all([submit(path, form), submit(path, form)]);
    expect([both.map(({ status }) => status), refunds(intent)]).toEqual([[303, 303], 1]);
  });

  test('is made once for each of two equal forms that is confirmed, and the other one is refused', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    const equal = { ...form, token: randomUUID() };
    const both = await Promise.all([submit(path, form), submit(path, equal)]);
    const statuses = both.map(({ status }) => status);
    expect(statuses.filter((status) => status === 303)).toHaveLength(refunds(intent));
    expect(statuses.filter((status) => status !== 303 && status !== 409)).toEqual([]);
  });

  test('is continued by its own form and by a new page only, not by an equal form', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    const equal = { ...form, token: randomUUID() };
    house.simulator.lostAnswers = 3;
    expect((await submit(path, form)).status).toBe(503);
    const refused = await submit(path, equal);
    expect([refused.status, refunds(intent)]).toEqual([409, 1]);
    expect(refused.html).toContain('Reload the page and order the same amount again');
    expect(fieldsOf(await page(), path)).toMatchObject({ token: form.token });
    expect((await submit(path, form)).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    expect(fieldsOf(await page(), path)).not.toMatchObject({ token: form.token });
    expect((await submit(path, equal)).status).toBe(303);
    expect(refunds(intent)).toBe(2);
  });

  test('is done where the charge alone cannot be looked at', async () => {
    const call = 'POST /v1/refunds';
    house.simulator.afterwards.set(call, () => house.simulator.outages.push(500, 500, 500));
    const { status } = await submit(path, { amount: '10.00', reason: 'asked', token: randomUUID() });
    house.simulator.afterwards.delete(call);
    expect([status, refunds(intent), house.simulator.outages]).toEqual([303, 1, []]);
  });

  test('is told in the words of the processor where it refuses, and can be ordered again', async () => {
    house.simulator.account.back.refund(intent);
    house.simulator.account.events.length = 0;
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    for (let round = 0; round < 2; round += 1) {
      const refused = await submit(path, form);
      expect(refused.status).toBe(409);
      expect(refused.html).toContain('refuses this refund: Nothing is left of this charge.');
    }
    expect(
      await house.rows(
        `SELECT o.state FROM refund_order o JOIN payment p ON p.id = o.payment_id WHERE p.wallet_id = $1`,
        [payer.userId],
      ),
    ).toEqual([{ state: 'refused' }, { state: 'refused' }]);
  });
});
