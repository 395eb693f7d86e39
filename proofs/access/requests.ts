import { randomBytes } from 'node:crypto';
import type { ReadResponse, Client } from '../operations/http';
import type { ServedRoute } from '../../test/system/routes';
import { type IdName, idNames } from './policy';

/** Sample values of form fields; an id is replaced by that of the object under test. */
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

/** Fields sent in addition to the required ones, without which a form does nothing. */
const extraFieldsOf: Readonly<Record<string, readonly string[]>> = {
  '/dashboard/admin/departments/{dept_id}': ['name'],
  '/dashboard/admin/projects/{project_id}': ['name'],
  '/dashboard/admin/organisations/{org_id}': ['name'],
  '/dashboard/admin/users/{user_id}/credit-limit': ['credit_limit'],
  '/dashboard/admin/users/{user_id}/monthly-budget': ['monthly_budget'],
  '/dashboard/admin/conversations/retention': ['days'],
  '/dashboard/admin/autorouter/org': ['mode'],
  '/dashboard/admin/autorouter/api-key': ['mode'],
};

export const formFields = ({ body }: ServedRoute): readonly string[] => Object.keys(body.fields);

export interface IdSlot {
  readonly name: IdName;
  readonly in: 'path' | 'query' | 'body';
}

/** Returns the first owned-object id that a route takes, which decides whose object the request concerns. */
export function idSlotOf({ path, query, body }: ServedRoute): IdSlot | null {
  for (const name of idNames) if (path.includes(`{${name}}`)) return { name, in: 'path' };
  for (const name of idNames) if (query.required.includes(name)) return { name, in: 'query' };
  for (const name of idNames) if (name in body.fields) return { name, in: 'body' };
  return null;
}

/** Tells whether the id is the row number used by the portal rather than the public id of a key. */
export const isRowId = ({ path }: ServedRoute, { name }: IdSlot): boolean =>
  name === 'key_id' && !path.startsWith('/v1/');

export function bodyOf({ path, body: { fields, required } }: ServedRoute): Record<string, unknown> {
  const includedFields = Object.entries(fields).filter(
    ([name]) => required.includes(name) || extraFieldsOf[path]?.includes(name),
  );
  return Object.fromEntries(
    includedFields.map(([name, field]) => [
      name,
      samples[name]?.() ?? field.enum?.find((value) => value !== '') ?? '1',
    ]),
  );
}

/** Sends the request of one matrix cell; other ids in the path are absent ones. */
export async function sendRequest(
  client: Client,
  route: ServedRoute,
  target: { readonly place: IdSlot; readonly id: string } | null,
  more: { readonly body?: string; readonly query?: string } = {},
): Promise<ReadResponse> {
  const filledPath = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    target?.place.in === 'path' && target.place.name === name ? target.id : '999999',
  );
  const path = filledPath.replaceAll(/\{\W\}/g, '');
  const query = target?.place.in === 'query' ? `?${target.place.name}=${target.id}` : (more.query ?? '');
  if (route.method === 'GET' || route.method === 'HEAD') return client.send(route.method, `${path}${query}`);
  const body = {
    ...bodyOf(route),
    ...(target?.place.in === 'body' ? { [target.place.name]: target.id } : {}),
  };
  const headers = { 'content-type': 'application/json' };
  return client.send(route.method, `${path}${query}`, { headers, body: more.body ?? JSON.stringify(body) });
}
