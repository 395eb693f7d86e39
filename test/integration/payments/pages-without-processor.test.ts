import { addUser, signIn } from '../../support/users';
import { PaymentFixture } from './payment-fixture';

test('without a processor key operators see setup instructions, customers see a notice, and payments are refused', async () => {
  const fixture = await PaymentFixture.start({ PROCESSOR_SECRET_KEY: '' });
  try {
    const payer = await fixture.payer();
    const readPage = async (cookie: string): Promise<string> =>
      (await fetch(`${fixture.app.url}/dashboard/billing`, { headers: { cookie } })).text();
    const operatorPage = await readPage(
      await signIn(fixture.app, await addUser(fixture.app, 'platform_admin')),
    );
    expect(operatorPage).toContain('PROCESSOR_SECRET_KEY');
    expect(operatorPage).toContain('stripe listen --forward-to');
    const text = await readPage(payer.cookie);
    expect(text).toContain('Ask the operator or your administrator to add credit');
    expect(text).not.toMatch(/PROCESSOR|stripe|npm run/);
    const checkoutResponse = await fixture.send('POST', '/api/billing/checkout', payer, { amount: 10 });
    expect(JSON.stringify(checkoutResponse.body)).not.toContain('PROCESSOR');
    expect(text).not.toContain('action="/api/billing/checkout"');
    const config = await fixture.send('GET', '/api/billing/processor-config', payer);
    expect(config.body).toMatchObject({ connected: false, publishable_key: null });
  } finally {
    await fixture.close();
  }
});
