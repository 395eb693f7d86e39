import { Logger } from '#product/platform';
import { AlertFixture, DAY_MS } from './alert-fixture';

let fixture: AlertFixture;
beforeAll(async () => {
  // A DNS label longer than 63 characters is invalid, so the resolver rejects it without a query.
  fixture = await AlertFixture.open({ environment: { BASE_URL: `https://${'a'.repeat(64)}.example` } });
});
afterAll(() => fixture.close());

// "an unresolvable BASE_URL logs a stack every minute".
test('an unresolvable BASE_URL is logged once, not every minute', async () => {
  // Counted at the logger, before repeated lines within ten seconds are suppressed.
  const warnings = jest.spyOn(fixture.portal.app.application.get(Logger), 'warn');
  await fixture.poll(DAY_MS);
  for (let minute = 0; minute < 5; minute += 1) await fixture.poll();
  const failures = warnings.mock.calls.filter(([, fields]) => fields?.['kind'] === 'certificate-ending');
  expect(failures).toHaveLength(1);
});
