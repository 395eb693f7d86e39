import { CommandHouse } from './command-house';

let house: CommandHouse;
beforeAll(async () => (house = await CommandHouse.open()));
afterAll(() => house.close());

// HTTP/2 to suppliers is removed. An upgrade loses no provider: leftovers are ignored, and doctor names them.
test('doctor warns of providers and variables that still ask for HTTP/2', async () => {
  const applied = await house.apply(`version: 1
providers:
  former: { style: openai-style, base_url: "http://127.0.0.1:9", settings: { anonymous: true, egress: { http2: true } } }
  other: { style: openai-style, base_url: "http://127.0.0.1:9", settings: { anonymous: true } }
`);
  expect(applied.complaint).toBe('');
  house.environment.EGRESS_HTTP2 = 'true';
  const { output } = await house.run(['doctor']);
  expect(output).toContain(
    'warn  HTTP/2: ignored in settings.egress of former: suppliers are reached over HTTP/1.1\n',
  );
  expect(output).toContain(
    'warn  setting names: EGRESS_HTTP2 was removed: suppliers are reached over HTTP/1.1.\n',
  );
});
