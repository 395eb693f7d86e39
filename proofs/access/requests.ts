import { randomBytes } from 'node:crypto';
import type { Answer, Client } from '../operations/http';
import type { Route } from '../../test/system/routes';
import { type IdName, idNames } from './policy';

/** Fields of forms take these. An id is filled with the thing that a cell is about. */
const samples: Readonly<Record<string, () => unknown>> = {
  alias: () => `alias-${randomBytes(4).toString('hex')}`,
  amount: () => '5',
  allowed: () => [],
  billing_type: () => 'prepaid',
  confirmation: () => '',
  content: () => 'hello',
  credit_limit: () => '1',
  days: () => '7',
  direction: () => 'credit',
  email: () => `${randomBytes(6).toString('hex')}@example.com`,
  enabled: () => true,
  included: () => true,
  language: () => 'en',
  mode: () => 'open',
  model: () => 'sim-small',
  monthly_budget: () => '5',
  name: () => `n${randomBytes(4).toString('hex')}`,
  notices: () => [],
  operation: () => 'chat',
  reason: () => 'a proof',
  role: () => 'user',
  slug: () => `s${randomBytes(4).toString('hex')}`,
  state: () => 'active',
  status: () => 'suspended',
  title: () => 'a title',
  token: () => randomBytes(16).toString('hex'),
  visible: () => true,
};

/** Beside what is required: without these a form says nothing. */
const alsoSent: Readonly<Record<string, readonly string[]>> = {
  '/dashboard/admin/departments/{dept_id}': ['name'],
  '/dashboard/admin/projects/{project_id}': ['name'],
  '/dashboard/admin/organisations/{org_id}': ['name'],
  '/dashboard/admin/users/{user_id}/credit-limit': ['credit_limit'],
  '/dashboard/admin/users/{user_id}/monthly-budget': ['monthly_budget'],
  '/dashboard/admin/conversations/retention': ['days'],
  '/dashboard/admin/autorouter/org': ['mode'],
  '/dashboard/admin/autorouter/api-key': ['mode'],
};

/** The fields that a route's form has. */
export const formFields = ({ body }: Route): readonly string[] => Object.keys(body.fields);

export interface Place {
  readonly name: IdName;
  readonly in: 'path' | 'query' | 'body';
}

/** The ids of owned objects that a route takes. The first one decides whose object the request concerns. */
export function placeOfId({ path, query, body }: Route): Place | null {
  for (const name of idNames) if (path.includes(`{${name}}`)) return { name, in: 'path' };
  for (const name of idNames) if (query.required.includes(name)) return { name, in: 'query' };
  for (const name of idNames) if (name in body.fields) return { name, in: 'body' };
  return null;
}

/** Such an id is the number of a row, as the portal has it, and not the public id of a key. */
export const isRowId = ({ path }: Route, { name }: Place): boolean =>
  name === 'key_id' && !path.startsWith('/v1/');

export function bodyOf({ path, body: { fields, required } }: Route): Record<string, unknown> {
  const wanted = Object.entries(fields).filter(
    ([name]) => required.includes(name) || alsoSent[path]?.includes(name),
  );
  return Object.fromEntries(
    wanted.map(([name, field]) => [
      name,
      samples[name]?.() ?? field.enum?.find((value) => value !== '') ?? '1',
    ]),
  );
}

/** The request of a cell: other ids in the path are absent ones. */
export async function ask(
  client: Client,
  route: Route,
  target: { readonly place: Place; readonly id: string } | null,
  more: { readonly body?: string; readonly query?: string } = {},
): Promise<Answer> {
  const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    target?.place.in === 'path' && target.place.name === name ? target.id : '999999',
  );
  const path = filled.replaceAll(/\{\W\}/g, '');
  const query = target?.place.in === 'query' ? `?${target.place.name}=${target.id}` : (more.query ?? '');
  if (route.method === 'GET' || route.method === 'HEAD') return client.send(route.method, `${path}${query}`);
  const body = {
    ...bodyOf(route),
    ...(target?.place.in === 'body' ? { [target.place.name]: target.id } : {}),
  };
  const headers = { 'content-type': 'application/json' };
  return client.send(route.method, `${path}${query}`, { headers, body: more.body ?? JSON.stringify(body) });
}
