import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { readPage } from '../../support/public-site';
import { chatRecord, putRecords } from '../../support/records';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());

const MOST_PAGES = 300;

const decode = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=');

/** Rows differ in their identifiers and filters in their values: one of each is enough. */
const kindOf = (path: string): string =>
  path
    .replace(/\/(\d+|[0-9a-f-]{36}|[0-9A-Za-z]{8})(?=[/?]|$)/g, (_all, id: string) =>
      /\d/.test(id) ? '/:id' : `/${id}`,
    )
    .replace(/\?.*/, (query) => `?${query.slice(1).replace(/=[^&]*/g, '')}`);

test('no link of the dashboard is refused', async () => {
  const userId = await addUser(app, 'platform_owner');
  const key = await addKey(app, userId);
  await putRecords(app, [
    chatRecord(userId, key.id),
    chatRecord(userId, key.id, { code: 'upstream_error', status: 502, costNano: 0n }),
  ]);
  const headers = { accept: 'text/html', cookie: await signIn(app, userId) };
  const queue = ['/dashboard', `/dashboard/keys/${key.id}`];
  const known = new Set(queue.map(kindOf));
  const faults: string[] = [];
  let read = 0;
  for (let path = queue.shift(); path !== undefined && read < MOST_PAGES; path = queue.shift()) {
    const page = await readPage(app, path, headers);
    read += 1;
    if (page.status !== 200 && page.status !== 303) faults.push(`${path} answers ${page.status}`);
    if (page.headers.get('content-type')?.startsWith('text/html') !== true) continue;
    for (const [, raw = ''] of page.text.matchAll(/<a\b[^>]*?href="([^"]*)"/g)) {
      const [href = ''] = decode(raw).split('#');
      if (!href.startsWith('/dashboard') || known.has(kindOf(href))) continue;
      known.add(kindOf(href));
      queue.push(href);
    }
  }
  expect(faults).toEqual([]);
  expect(read).toBeGreaterThan(40);
});
