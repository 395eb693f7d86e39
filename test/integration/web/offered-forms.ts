import { ModulesContainer } from '#inside/boot/packages';
import { registeredRoutes } from '#product/web';
import { decoded, formsOf, type PageForm } from '../../support/page-forms';
import type { House, Person } from '../admin/house';

export interface OfferedForm extends PageForm {
  readonly page: string;
}

/** One thing of each kind, so that its page and forms are there; answers a platform owner in the admin view. */
export async function furnished(house: House): Promise<Person> {
  const owner = await house.person('platform_owner', { organisationId: house.ours });
  const member = await house.person('user');
  const make = async (path: string, body: object): Promise<void> => {
    const made = await house.post(owner, path, body);
    if (made.status !== 200) throw new Error(`${path}: ${made.text}`);
  };
  await make('/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  await make('/dashboard/admin/providers', {
    name: 'acme',
    style: 'openai-style',
    base_url: 'https://api.openai.com/v1',
  });
  await make('/dashboard/admin/models/create', {
    model: 'one',
    kind: 'chat',
    owned_by: 'acme',
    input_price: 1,
    output_price: 2,
    lanes: [{ provider: 'acme', upstream_model: 'one', region: 'eu' }],
  });
  await make('/dashboard/admin/models/add-alias', { model: 'one', alias: 'first' });
  await make('/dashboard/admin/departments', { name: 'Research', org_id: house.ours, monthly_budget: 5 });
  await make('/dashboard/admin/projects', { name: 'Moon', org_id: house.ours, monthly_budget: 7 });
  await make('/dashboard/admin/promotions', { name: 'Hello', scope: 'user', user_id: member.id, amount: 5 });
  await make('/dashboard/keys/new', { name: 'mine', budget_limit: 5, budget_period: 'monthly' });
  return owner;
}

/** Pages by their links, two of each route at most: one route with many objects has the same forms. */
export async function offeredForms(house: House, person: Person): Promise<OfferedForm[]> {
  const modules = house.app.application.get(ModulesContainer);
  const routes = registeredRoutes(modules)
    .filter(({ method, answer }) => method === 'GET' && answer === 'page')
    .map(({ path }) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`) }));
  const routeOf = (address: string): string | undefined =>
    routes.toSorted((one, other) => one.path.length - other.path.length).find(({ path }) => path === address)
      ?.path ?? routes.find(({ pattern }) => pattern.test(address))?.path;
  const waiting = ['/dashboard'];
  const seen = new Map<string, Set<string>>();
  const forms: OfferedForm[] = [];
  for (const address of waiting) {
    const { status, text } = await house.get(person, address);
    if (status !== 200) continue;
    forms.push(...formsOf(text).map((form) => ({ ...form, page: address })));
    for (const [, href = ''] of text.matchAll(/<a\b[^>]* href="(\/dashboard[^"]*)/g)) {
      const next = decoded(href).split('#')[0] ?? '';
      const [path = '', query = ''] = next.split('?');
      const route = routeOf(path);
      if (route === undefined || path.endsWith('/export') || /cursor=|format=/.test(query)) continue;
      const known = seen.get(route) ?? new Set();
      seen.set(route, known);
      const tab = new URLSearchParams(query).get('tab') ?? '';
      if (known.has(tab)) continue;
      known.add(tab);
      waiting.push(next);
    }
  }
  return forms;
}
