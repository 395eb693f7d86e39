import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../../..');
const namesIn = (text: string, quote: string): string[] =>
  [...text.matchAll(new RegExp(`${quote}(?:__Host-)?(svc_[a-z_]+)${quote}`, 'g'))].map(
    ([, name = '']) => name,
  );

test('cookie page names exactly the cookies that the source sets', () => {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
    .filter((text) => /cookie/i.test(text));
  const sourceCookies = new Set(sources.flatMap((text) => namesIn(text, "'")));
  const documentedCookies = new Set(namesIn(readFileSync(join(root, 'views/legal/cookies.md'), 'utf8'), '`'));
  expect([...documentedCookies].sort()).toEqual([...sourceCookies].sort());
  expect(sourceCookies.size).toBeGreaterThan(8);
});
