import { row, type Row } from '../../row';
import { mailTo, newAddress } from '../../../operations/accounts';
import { ADMIN, clientOf, expectInvalid, inHtml, okHtml, okJson } from './steps';

/** Each with a text by which a visitor knows the page. */
const pages: readonly [path: string, text: string][] = [
  ['/login', 'action="/auth/login"'],
  ['/signup', 'action="/auth/register"'],
  ['/forgot-password', 'action="/auth/forgot-password"'],
  ['/reset-password', '</h1>'],
  ['/verify-email', '</h1>'],
  ['/', 'href="/signup"'],
  ['/pricing', 'sim-small'],
  ['/features', '</h1>'],
  ['/api-docs', '/v1/chat/completions'],
  ['/guide', '</h1>'],
  ['/security', '</h1>'],
  ['/models-public', 'sim-small'],
  ['/controls', '</h1>'],
  ['/certifications', '</h1>'],
  ['/developers', '</h1>'],
  ...['terms', 'aup', 'privacy', 'cookies', 'dpa', 'refund', 'billing', 'security'].map(
    (name): [string, string] => [`/legal/${name}`, '<article'],
  ),
];

const opened = pages.map(([path, text]) =>
  row('4.10', `\`GET ${path}\` is a public page: 200, \`text/html\`, without a session`, async (world) => {
    okHtml(await world.anonymous.get(path, inHtml), text);
    okHtml(await world.anonymous.get(path), text);
  }),
);

export const publicPageRows: readonly Row[] = [
  ...opened,
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
