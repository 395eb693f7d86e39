import { CommandFixture } from './command-fixture';

let fixture: CommandFixture;
beforeAll(async () => (fixture = await CommandFixture.open()));
afterAll(() => fixture.close());

// Support for HTTP/2 to suppliers was removed. Leftover settings are ignored, and doctor lists them.
test('doctor warns of providers and variables that still request HTTP/2', async () => {
  const applyResult = await fixture.apply(`version: 1
providers:
  former: { style: openai-style, base_url: "http://127.0.0.1:9", settings: { anonymous: true, egress: { http2: true } } }
  other: { style: openai-style, base_url: "http://127.0.0.1:9", settings: { anonymous: true } }
`);
  expect(applyResult.complaint).toBe('');
  fixture.environment.EGRESS_HTTP2 = 'true';
  const { output } = await fixture.run(['doctor']);
  expect(output).toContain(
    'warn  HTTP/2: ignored in settings.egress of former: suppliers are reached over HTTP/1.1\n',
  );
  expect(output).toContain(
    'warn  setting names: EGRESS_HTTP2 was removed: suppliers are reached over HTTP/1.1.\n',
  );
});
