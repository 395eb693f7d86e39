import { ModulesContainer } from '#inside/boot/packages';
import { registeredRoutes } from '#product/web';
import { decoded, parseForms, type PageForm } from '../../support/page-forms';
import type { PortalFixture, Person } from '../admin/portal-fixture';

export interface OfferedForm extends PageForm {
  readonly page: string;
}

/** Creates one object of each kind, so that its page and forms exist; returns a platform owner in the admin view. */
export async function createOneOfEach(fixture: PortalFixture): Promise<Person> {
  const owner = await fixture.person('platform_owner', { organisationId: fixture.ownOrganisation });
  const member = await fixture.person('user');
  const create = async (path: string, body: object): Promise<void> => {
    const createResponse = await fixture.post(owner, path, body);
    if (createResponse.status !== 200) throw new Error(`${path}: ${createResponse.text}`);
  };
  await create('/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  await create('/dashboard/admin/providers', {
    name: 'acme',
    style: 'openai-style',
    base_url: 'https://api.openai.com/v1',
  });
  await create('/dashboard/admin/models/create', {
    model: 'one',
    kind: 'chat',
    owned_by: 'acme',
    input_price: 1,
    output_price: 2,
    lanes: [{ provider: 'acme', upstream_model: 'one', region: 'eu' }],
  });
  await create('/dashboard/admin/models/add-alias', { model: 'one', alias: 'first' });
  await create('/dashboard/admin/departments', {
    name: 'Research',
    org_id: fixture.ownOrganisation,
    monthly_budget: 5,
  });
  await create('/dashboard/admin/projects', {
    name: 'Moon',
    org_id: fixture.ownOrganisation,
    monthly_budget: 7,
  });
  await create('/dashboard/admin/promotions', {
    name: 'Hello',
    scope: 'user',
    user_id: member.id,
    amount: 5,
  });
  await create('/dashboard/keys/new', { name: 'mine', budget_limit: 5, budget_period: 'monthly' });
  return owner;
}

/** Crawls pages by their links, at most two per route, because pages of one route have the same forms. */
export async function collectForms(fixture: PortalFixture, person: Person): Promise<OfferedForm[]> {
  const modules = fixture.app.application.get(ModulesContainer);
  const routes = registeredRoutes(modules)
    .filter(({ method, answer }) => method === 'GET' && answer === 'page')
    .map(({ path }) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`) }));
  const routeOf = (address: string): string | undefined =>
    routes.toSorted((one, other) => one.path.length - other.path.length).find(({ path }) => path === address)
      ?.path ?? routes.find(({ pattern }) => pattern.test(address))?.path;
  const queue = ['/dashboard'];
  const seen = new Map<string, Set<string>>();
  const forms: OfferedForm[] = [];
  for (const address of queue) {
    const { status, text } = await fixture.get(person, address);
    if (status !== 200) continue;
    forms.push(...parseForms(text).map((form) => ({ ...form, page: address })));
    for (const [, href = ''] of text.matchAll(/<a\b[^>]* href="(\/dashboard[^"]*)/g)) {
      const next = decoded(href).split('#')[0] ?? '';
      const [path = '', query = ''] = next.split('?');
      const route = routeOf(path);
      if (route === undefined || path.endsWith('/export') || /cursor=|format=/.test(query)) continue;
      const knownTabs = seen.get(route) ?? new Set();
      seen.set(route, knownTabs);
      const tab = new URLSearchParams(query).get('tab') ?? '';
      if (knownTabs.has(tab)) continue;
      knownTabs.add(tab);
      queue.push(next);
    }
  }
  return forms;
}
