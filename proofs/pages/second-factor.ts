import { Secret, TOTP } from 'otpauth';
import { type Client, expect, expectStatus } from '../operations/http';

const page = '/dashboard/settings/second-factor';

/** Turns on two-factor authentication for this user. */
export async function enableTwoFactor(client: Client, password: string): Promise<void> {
  const setupPage = await client.get(page, { headers: { accept: 'text/html' } });
  const secret = (/<code>([A-Z2-7 ]{39})<\/code>/.exec(setupPage.text)?.[1] ?? '').replaceAll(' ', '');
  expect(secret !== '', 'the page shows the secret');
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  expectStatus(await client.post(`${page}/enable`, { json: { code, current_password: password } }), 200);
}
