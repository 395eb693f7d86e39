import { processorCheck } from '#inside/commands/processor-check';
import { apiVersion } from '../../../simulator/processor/facts';
import { PaymentFixture } from './payment-fixture';

describe('Processor check', () => {
  let fixture: PaymentFixture;

  beforeAll(async () => {
    fixture = await PaymentFixture.start();
  });
  afterAll(() => fixture.close());

  test('processor:check names the endpoint, its events and any missing settings', async () => {
    const environment = { ...fixture.app.environment, BASE_URL: 'https://models.example.com' };
    const run = async (): Promise<[number, string]> => {
      let output = '';
      const write = (text: string): void => void (output += text);
      const code = await processorCheck.run([], {
        environment,
        write,
        writeStderr: write,
        confirm: () => Promise.resolve(false),
      });
      return [code, output];
    };
    const [none, saidNone] = await run();
    expect(none).toBe(1);
    expect(saidNone).toContain(
      'MISSING  an endpoint for https://models.example.com/api/billing/processor/webhook',
    );
    const endpointFields = new Map([
      ['url', 'https://models.example.com/api/billing/processor/webhook'],
      ['enabled_events[0]', 'checkout.session.completed'],
    ]);
    const endpoint = fixture.simulator.account.createEndpoint(endpointFields);
    const [some, saidSome] = await run();
    expect(some).toBe(1);
    expect(saidSome).toContain('MISSING  the event charge.dispute.created');
    Object.assign(endpoint, { enabled_events: ['*'], api_version: '2024-06-20' });
    const [old, saidOld] = await run();
    expect([old, saidOld]).toEqual([1, expect.stringContaining('this one tells events of 2024-06-20')]);
    const release = apiVersion.split('.')[1] ?? '';
    for (const api_version of [null, apiVersion, `2999-01-01.${release}`]) {
      Object.assign(endpoint, { api_version });
      expect(await run()).toEqual([0, expect.stringContaining('all is set up')]);
    }
  });
});
