import { Logger } from '#product/platform';
import { AlertHouse, DAY } from './alert-house';

let house: AlertHouse;
beforeAll(async () => {
  // A DNS label longer than 63 characters is invalid, so the resolver rejects it without a query.
  house = await AlertHouse.open({ environment: { BASE_URL: `https://${'a'.repeat(64)}.example` } });
});
afterAll(() => house.close());

// "an unresolvable BASE_URL logs a stack every minute".
test('an unresolvable BASE_URL is logged once, not every minute', async () => {
  // Counted before the log holds back what it takes for repetitions within ten seconds.
  const warnings = jest.spyOn(house.house.app.application.get(Logger), 'warn');
  await house.pass(DAY);
  for (let minute = 0; minute < 5; minute += 1) await house.pass();
  const failures = warnings.mock.calls.filter(([, fields]) => fields?.['kind'] === 'certificate-ending');
  expect(failures).toHaveLength(1);
});
