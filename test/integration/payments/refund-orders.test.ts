import { randomUUID } from 'node:crypto';
import { parseForms } from '../../support/page-forms';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;
const adminPath = '/dashboard/admin/billing';

describe('A refund whose response is lost', () => {
  let fixture: PaymentFixture;
  let payer: Payer;
  let operator: Payer;
  let intent: string;
  let path: string;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
    operator = await fixture.payer({ role: 'platform_admin' });
  });
  beforeEach(async () => {
    payer = await fixture.payer();
    intent = await fixture.topUp(payer, 30);
    const { body } = await fixture.send('GET', '/api/billing/payments', payer);
    path = `${adminPath}/payments/${body['data'][0].id}/refund`;
  });
  afterAll(() => fixture.close());

  const page = async (): Promise<string> => {
    const answer = await fetch(`${fixture.app.url}${adminPath}`, {
      headers: { cookie: operator.cookie, accept: 'text/html' },
    });
    return answer.text();
  };
  const submit = async (path: string, form: Record<string, string>) => {
    const response = await fetch(`${fixture.app.url}${path}`, {
      method: 'POST',
      headers: {
        cookie: operator.cookie,
        accept: 'text/html',
        origin: fixture.app.url,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
      redirect: 'manual',
      body: new URLSearchParams({ _page: adminPath, ...form }).toString(),
    });
    return { status: response.status, html: await response.text() };
  };
  const fieldsOf = (html: string, path: string): Record<string, string> => {
    const form = parseForms(html).find(({ action }) => action === path);
    return Object.fromEntries((form?.fields ?? []).map(({ name, value }) => [name, value]));
  };
  const refunds = (intent: string) =>
    [...fixture.simulator.account.refunds.values()].filter((one) => one['payment_intent'] === intent).length;

  test('is made once, whether the form is submitted again or from a reloaded page', async () => {
    const form = { ...fieldsOf(await page(), path), amount: '10.00', reason: 'asked' };
    fixture.simulator.lostResponses = 3;
    const lostResponse = await submit(path, form);
    expect([lostResponse.status, refunds(intent)]).toEqual([503, 1]);
    expect(lostResponse.html).toContain('so this refund may have been made');
    expect(fieldsOf(lostResponse.html, path)).toMatchObject(form);
    // A different amount could be a second refund, so the first must be resolved before.
    const freshForm = { ...fieldsOf(await page(), path), reason: 'asked' };
    const otherAmountResponse = await submit(path, { ...freshForm, amount: '5.00' });
    expect([otherAmountResponse.status, refunds(intent)]).toEqual([409, 1]);
    expect(otherAmountResponse.html).toContain('A refund of 10.00 USD was ordered and is not answered yet');
    expect((await submit(path, { ...freshForm, amount: '10.00' })).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    // Submits the lost form again; its refund has been made by now.
    expect((await submit(path, form)).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    await fixture.deliverAll();
    expect(await fixture.balance(payer)).toBe(30n * USD - (30n * USD * 1000n) / 3158n);
    expect(
      await fixture.rows(
        `SELECT reason FROM activity WHERE action = 'billing.refund-ordered' AND user_id = $1`,
        [payer.userId],
      ),
    ).toEqual([{ reason: 'asked' }]);
  });

  test('is recognised by its event, so the same form changes nothing and an equal new form refunds again', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    fixture.simulator.lostResponses = 3;
    expect((await submit(path, form)).status).toBe(503);
    await fixture.deliverAll();
    expect((await submit(path, form)).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    expect((await submit(path, { ...form, token: randomUUID() })).status).toBe(303);
    expect(refunds(intent)).toBe(2);
    expect(await fixture.balance(payer)).toBe(30n * USD - (30n * USD * 2000n) / 3158n);
  });

  // "Two equal refund forms at once are ambiguous".
  test('is made once for a form that is sent twice at once', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    const responses = await Promise.all([submit(path, form), submit(path, form)]);
    expect([responses.map(({ status }) => status), refunds(intent)]).toEqual([[303, 303], 1]);
  });

  test('is made once if two equal forms are confirmed, and the other is refused', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    const equalForm = { ...form, token: randomUUID() };
    const responses = await Promise.all([submit(path, form), submit(path, equalForm)]);
    const statuses = responses.map(({ status }) => status);
    expect(statuses.filter((status) => status === 303)).toHaveLength(refunds(intent));
    expect(statuses.filter((status) => status !== 303 && status !== 409)).toEqual([]);
  });

  test('is continued by its own form or a reloaded page, but not by an equal form', async () => {
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    const equalForm = { ...form, token: randomUUID() };
    fixture.simulator.lostResponses = 3;
    expect((await submit(path, form)).status).toBe(503);
    const refusal = await submit(path, equalForm);
    expect([refusal.status, refunds(intent)]).toEqual([409, 1]);
    expect(refusal.html).toContain('Reload the page and order the same amount again');
    expect(fieldsOf(await page(), path)).toMatchObject({ token: form.token });
    expect((await submit(path, form)).status).toBe(303);
    expect(refunds(intent)).toBe(1);
    expect(fieldsOf(await page(), path)).not.toMatchObject({ token: form.token });
    expect((await submit(path, equalForm)).status).toBe(303);
    expect(refunds(intent)).toBe(2);
  });

  test('is made if only the look-up of the charge fails', async () => {
    const call = 'POST /v1/refunds';
    fixture.simulator.afterCall.set(call, () => fixture.simulator.outages.push(500, 500, 500));
    const { status } = await submit(path, { amount: '10.00', reason: 'asked', token: randomUUID() });
    fixture.simulator.afterCall.delete(call);
    expect([status, refunds(intent), fixture.simulator.outages]).toEqual([303, 1, []]);
  });

  test("shows the processor's message when refused, and can be ordered again", async () => {
    fixture.simulator.account.refundsAndDisputes.refund(intent);
    fixture.simulator.account.events.length = 0;
    const form = { amount: '10.00', reason: 'asked', token: randomUUID() };
    for (let round = 0; round < 2; round += 1) {
      const refusal = await submit(path, form);
      expect(refusal.status).toBe(409);
      expect(refusal.html).toContain('refuses this refund: Nothing is left of this charge.');
    }
    expect(
      await fixture.rows(
        `SELECT o.state FROM refund_order o JOIN payment p ON p.id = o.payment_id WHERE p.wallet_id = $1`,
        [payer.userId],
      ),
    ).toEqual([{ state: 'refused' }, { state: 'refused' }]);
  });
});
