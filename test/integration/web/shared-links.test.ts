import { ModulesContainer } from '#inside/boot/packages';
import { getMetadataStorage } from 'class-validator';
import { registeredRoutes, type RegisteredRoute } from '#product/web';
import { PortalFixture, type Person } from '../admin/portal-fixture';
import { createOneOfEach } from './collect-forms';

/*
 * Invariant of every page: tracking parameters added by other systems do not change it. An invalid value of a known
 * parameter shows the page with its default, a notice and status 422.
 */

let fixture: PortalFixture;
let owner: Person;
let pages: RegisteredRoute[];

beforeAll(async () => {
  fixture = await PortalFixture.open();
  owner = await createOneOfEach(fixture);
  pages = registeredRoutes(fixture.app.application.get(ModulesContainer)).filter(
    ({ method, answer, path }) => method === 'GET' && answer === 'page' && !path.includes('{'),
  );
});
afterAll(() => fixture.close());

const trackingParameters = 'utm_source=a&utm_source=b&ref=friend&gclid=CjwKCAjw&fbclid=IwAR0';
const readerOf = (path: string): Person | null => (path.startsWith('/dashboard') ? owner : null);

async function readPage(
  path: string,
  accept = 'text/html',
): Promise<{ status: number; text: string; type: string }> {
  const person = readerOf(path);
  const answer = await fetch(fixture.app.url + path, {
    redirect: 'manual',
    headers: { accept, ...(person === null ? {} : { cookie: person.cookie }) },
  });
  return { status: answer.status, text: await answer.text(), type: answer.headers.get('content-type') ?? '' };
}

test('unknown parameters change no page, for browsers and link previews', async () => {
  const problems: string[] = [];
  for (const { path } of pages) {
    for (const accept of ['text/html', '*/*']) {
      const plainPage = await readPage(path, accept);
      const { status } = await readPage(`${path}?${trackingParameters}`, accept);
      if (status !== plainPage.status) problems.push(`${path}: ${status} instead of ${plainPage.status}`);
    }
  }
  expect(problems).toEqual([]);
  expect(pages.length).toBeGreaterThan(60);
}, 120_000);

const namesOf = (form: RegisteredRoute['forms']['query']): string[] =>
  form === undefined
    ? []
    : getMetadataStorage()
        .getTargetValidationMetadatas(form, '', false, false)
        .map(({ propertyName }) => propertyName);

const nonsense = '\u0001'.repeat(3_000);

test('an invalid value of a known parameter shows the page with its default and a notice', async () => {
  const problems: string[] = [];
  let refusedCount = 0;
  for (const { path, forms, single } of pages) {
    const plainPage = await readPage(path);
    const names = [...new Set([...single.query.keys(), ...namesOf(forms.query)])].filter(
      (name) => name !== 'format',
    );
    for (const name of plainPage.status === 200 ? names : []) {
      const { status, text, type } = await readPage(
        `${path}?utm_source=news&${name}=${encodeURIComponent(nonsense)}`,
      );
      if (status === 200) continue;
      refusedCount += 1;
      const isShown =
        text.includes('class="banner banner-bad" role="alert"') && !text.includes('class="fault"');
      if (status !== 422 || !isShown || !type.startsWith('text/html'))
        problems.push(`${path}?${name}: ${status}`);
    }
  }
  expect(problems).toEqual([]);
  expect(refusedCount).toBeGreaterThan(60);
}, 120_000);

test('data and file routes refuse an invalid parameter instead of replacing it', async () => {
  for (const path of [
    '/dashboard/request-log/export?days=many',
    '/dashboard/api/usage?bucket=many',
    '/models-public?format=json&utm_source=news',
  ])
    expect([path, (await readPage(path)).status >= 400]).toEqual([path, true]);
});

test("the notice is in the reader's language", async () => {
  const answer = await fetch(`${fixture.app.url}/models-public?sort=many`, {
    headers: { accept: 'text/html', 'accept-language': 'de' },
  });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([422, 'no-store']);
  expect(await answer.text()).toContain('„sort“ in der Adresse hat einen Wert, der nicht zulässig ist.');
});
