import { expect } from '../../../operations/http';
import { row, type SpecificationRow } from '../../row';
import { mailTo, newAddress } from '../../../operations/accounts';
import { ADMIN, clientOf, expectInvalid, inHtml, okHtml, okJson } from './row-helpers';

/** Public pages, each with a text that identifies it. */
const pages: readonly [path: string, text: string | RegExp][] = [
  ['/login', 'action="/auth/login"'],
  ['/signup', 'action="/auth/register"'],
  ['/forgot-password', 'action="/auth/forgot-password"'],
  ['/reset-password', /password/i],
  ['/verify-email', /confirm|verif/i],
  ['/', 'href="/signup"'],
  ['/pricing', /\$\d/],
  ['/features', /failover/i],
  ['/api-docs', '/v1/chat/completions'],
  ['/guide', /base address|base_url|\/v1/i],
  ['/security', /encrypt/i],
  ['/models-public', /(sim|spec)-\w+/],
  ['/controls', /access/i],
  ['/certifications', /certif/i],
  ['/developers', /SDK/],
  ...Object.entries({
    terms: /terms/i,
    aup: /acceptable use/i,
    privacy: /privacy/i,
    cookies: /cookie/i,
    dpa: /data processing/i,
    refund: /refund/i,
    billing: /billing/i,
    security: /security/i,
  }).map(([name, about]): [string, RegExp] => [`/legal/${name}`, about]),
];

/** Main content of the page, without navigation and footer. */
const mainOf = (page: string): string => /<main[\s\S]*<\/main>/.exec(page)?.[0] ?? '';

const pageRows = pages.map(([path, text]) =>
  row(
    '4.10',
    `\`GET ${path}\` is a public page about its subject: 200, \`text/html\`, without a session`,
    async (world) => {
      for (const options of [inHtml, {}]) {
        const page = mainOf(okHtml(await world.anonymous.get(path, options)));
        expect(/<h1/.test(page), 'the page has no heading');
        const isThere = typeof text === 'string' ? page.includes(text) : text.test(page);
        expect(isThere, `the page holds nothing like ${String(text)}`);
        if (path.startsWith('/legal/')) expect(page.includes('<article'), 'the page has no article');
      }
    },
  ),
);

export const publicPageRows: readonly SpecificationRow[] = [
  ...pageRows,
  row(
    '4.10',
    '`GET /invite/{token}` is a public page that tells of the invitation and has a button to sign in',
    async (world) => {
      const email = newAddress();
      const owner = await clientOf(world, 'org_owner');
      okJson(await owner.post(`${ADMIN}/users/invite`, { json: { email, role: 'user' } }));
      const token = /\/invite\/([\w-]{43})/.exec((await mailTo(world, email, /./)).text)?.[1] ?? '';
      okHtml(
        await world.anonymous.get(`/invite/${token}`),
        email,
        'ours',
        `href="/login?next=/invite/${token}`,
      );
    },
  ),
  row('4.10', '`GET /invite/{token}` answers an invalid `token` with 422', async (world) =>
    expectInvalid(await world.anonymous.get(`/invite/${'A'.repeat(2_000)}`), 'path', 'token'),
  ),
];
