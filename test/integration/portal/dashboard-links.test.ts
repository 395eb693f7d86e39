import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/users';
import { fetchPage } from '../../support/public-site';
import { createChatRecord, storeRecords } from '../../support/records';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ sandboxUrl: 'http://127.0.0.1:9' });
});
afterAll(() => app.close());

const MAX_PAGES = 300;

const decode = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=');

/** Paths that differ only in ids or filter values count as one. */
const routeKeyOf = (path: string): string =>
  path
    .replace(/\/(\d+|[0-9a-f-]{36}|[0-9A-Za-z]{8})(?=[/?]|$)/g, (_all, id: string) =>
      /\d/.test(id) ? '/:id' : `/${id}`,
    )
    .replace(/\?.*/, (query) => `?${query.slice(1).replace(/=[^&]*/g, '')}`);

test('every link of the dashboard leads to a page without an error', async () => {
  const userId = await addUser(app, 'platform_owner');
  const key = await addKey(app, userId);
  await storeRecords(app, [
    createChatRecord(userId, key.id),
    createChatRecord(userId, key.id, { code: 'upstream_error', status: 502, costNano: 0n }),
  ]);
  const headers = { accept: 'text/html', cookie: await signIn(app, userId) };
  const queue = ['/dashboard', `/dashboard/keys/${key.id}`];
  const knownKinds = new Set(queue.map(routeKeyOf));
  const brokenLinks: string[] = [];
  let pageCount = 0;
  for (let path = queue.shift(); path !== undefined && pageCount < MAX_PAGES; path = queue.shift()) {
    const page = await fetchPage(app, path, headers);
    pageCount += 1;
    if (page.status !== 200 && page.status !== 303) brokenLinks.push(`${path} answers ${page.status}`);
    if (page.headers.get('content-type')?.startsWith('text/html') !== true) continue;
    for (const [, raw = ''] of page.text.matchAll(/<a\b[^>]*?href="([^"]*)"/g)) {
      const [href = ''] = decode(raw).split('#');
      if (!href.startsWith('/dashboard') || knownKinds.has(routeKeyOf(href))) continue;
      knownKinds.add(routeKeyOf(href));
      queue.push(href);
    }
  }
  expect(brokenLinks).toEqual([]);
  expect(pageCount).toBeGreaterThan(40);
});
