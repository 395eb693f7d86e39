import { ModulesContainer } from '#inside/boot/packages';
import { getMetadataStorage } from 'class-validator';
import { registeredRoutes, type RegisteredRoute } from '#product/web';
import { House, type Person } from '../admin/house';
import { furnished } from './offered-forms';

/*
 * The promise of every page: its address works with what campaigns, mail programs and networks add to it. A value that
 * a page does not take leads to the page with its default, which says so, with status 422.
 */

let house: House;
let owner: Person;
let pages: RegisteredRoute[];

beforeAll(async () => {
  house = await House.open();
  owner = await furnished(house);
  pages = registeredRoutes(house.app.application.get(ModulesContainer)).filter(
    ({ method, answer, path }) => method === 'GET' && answer === 'page' && !path.includes('{'),
  );
});
afterAll(() => house.close());

const shared = 'utm_source=a&utm_source=b&ref=friend&gclid=CjwKCAjw&fbclid=IwAR0';
const readerOf = (path: string): Person | null => (path.startsWith('/dashboard') ? owner : null);

async function read(
  path: string,
  accept = 'text/html',
): Promise<{ status: number; text: string; type: string }> {
  const person = readerOf(path);
  const answer = await fetch(house.app.url + path, {
    redirect: 'manual',
    headers: { accept, ...(person === null ? {} : { cookie: person.cookie }) },
  });
  return { status: answer.status, text: await answer.text(), type: answer.headers.get('content-type') ?? '' };
}

test('an unknown parameter changes the answer of no page, for a browser and for what previews a link', async () => {
  const faults: string[] = [];
  for (const { path } of pages) {
    for (const accept of ['text/html', '*/*']) {
      const plain = await read(path, accept);
      const { status } = await read(`${path}?${shared}`, accept);
      if (status !== plain.status) faults.push(`${path}: ${status} instead of ${plain.status}`);
    }
  }
  expect(faults).toEqual([]);
  expect(pages.length).toBeGreaterThan(60);
}, 120_000);

const namesOf = (form: RegisteredRoute['forms']['query']): string[] =>
  form === undefined
    ? []
    : getMetadataStorage()
        .getTargetValidationMetadatas(form, '', false, false)
        .map(({ propertyName }) => propertyName);

const nonsense = '\u0001'.repeat(3_000);

test('a bad value of a known parameter shows the page with its default and says so', async () => {
  const faults: string[] = [];
  let refused = 0;
  for (const { path, forms, single } of pages) {
    const plain = await read(path);
    const names = [...new Set([...single.query.keys(), ...namesOf(forms.query)])].filter(
      (name) => name !== 'format',
    );
    for (const name of plain.status === 200 ? names : []) {
      const { status, text, type } = await read(
        `${path}?utm_source=news&${name}=${encodeURIComponent(nonsense)}`,
      );
      if (status === 200) continue;
      refused += 1;
      const isShown =
        text.includes('class="banner banner-bad" role="alert"') && !text.includes('class="fault"');
      if (status !== 422 || !isShown || !type.startsWith('text/html'))
        faults.push(`${path}?${name}: ${status}`);
    }
  }
  expect(faults).toEqual([]);
  expect(refused).toBeGreaterThan(60);
}, 120_000);

test('data and files are not given with another meaning than was asked for', async () => {
  for (const path of [
    '/dashboard/request-log/export?days=many',
    '/dashboard/api/usage?bucket=many',
    '/models-public?format=json&utm_source=news',
  ])
    expect([path, (await read(path)).status >= 400]).toEqual([path, true]);
});

test('the notice is in the language of its reader', async () => {
  const answer = await fetch(`${house.app.url}/models-public?sort=many`, {
    headers: { accept: 'text/html', 'accept-language': 'de' },
  });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([422, 'no-store']);
  expect(await answer.text()).toContain('„sort“ in der Adresse hat einen Wert, der nicht zulässig ist.');
});
