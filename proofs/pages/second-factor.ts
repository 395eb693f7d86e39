import { Secret, TOTP } from 'otpauth';
import { type Client, expect, expectStatus } from '../operations/http';

const page = '/dashboard/settings/second-factor';

/** Switches on codes by time for this person. */
export async function setUp(client: Client, password: string): Promise<void> {
  const shown = await client.get(page, { headers: { accept: 'text/html' } });
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(shown.text)?.[1] ?? '').replaceAll(' ', '');
  expect(secret !== '', 'the page shows the secret');
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  expectStatus(await client.post(`${page}/enable`, { json: { code, current_password: password } }), 200);
}
