import type { House } from './house';

/** A signed-in owner of an organisation. */
export interface Tenant {
  readonly email: string;
  readonly cookie: string;
  readonly organisationId: number;
}

const PASSWORD = 'kit';

/** Opens two organisations, each with an owner who signs in by the kit's own directory. */
export async function tenantsOf(house: House, directory: string): Promise<readonly [Tenant, Tenant]> {
  const cookie = await house.ownerCookie();
  return [
    await tenantOf(house, directory, cookie, 'kit-one'),
    await tenantOf(house, directory, cookie, 'kit-two'),
  ];
}

async function tenantOf(house: House, directory: string, owner: string, name: string): Promise<Tenant> {
  const email = `${name}@kit.example`;
  await signIn(house, directory, name);
  const organisation = await sent(house, owner, '/dashboard/admin/organisations', { name, slug: name });
  const organisationId = Number(organisation['id']);
  const { text } = await house.get('/dashboard/admin/users/export', { cookie: owner, authorization: '' });
  const line = text.split('\n').find((row) => row.includes(email)) ?? '';
  const id = /\d+/.exec(line)?.[0];
  if (id === undefined) throw new Error(`the kit could not open the account ${email}`);
  await sent(house, owner, `/dashboard/admin/users/${id}/org`, { org_id: organisationId });
  await sent(house, owner, `/dashboard/admin/users/${id}/role`, { role: 'org_owner' });
  // Another role ends the sessions of a person.
  return { email, organisationId, cookie: await signIn(house, directory, name) };
}

async function signIn(house: House, directory: string, name: string): Promise<string> {
  const form = { provider: directory, user_name: name, password: PASSWORD, terms: 'on' };
  const { headers, status, text } = await house.submit('/auth/login', '', JSON.stringify(form));
  const [cookie = ''] = headers.getSetCookie().flatMap((each) => /^svc_session=[^;]+/.exec(each) ?? []);
  if (cookie === '') throw new Error(`${name} could not sign in: ${status} ${text.slice(0, 500)}`);
  return cookie;
}

async function sent(
  house: House,
  cookie: string,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const { status, text } = await house.submit(path, cookie, JSON.stringify(body));
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as Record<string, unknown>;
}
