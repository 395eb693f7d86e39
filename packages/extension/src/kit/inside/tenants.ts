import type { ServiceProcess } from './service-process';

export interface Tenant {
  readonly email: string;
  readonly cookie: string;
  readonly organisationId: number;
}

const PASSWORD = 'kit';

/** Creates two organisations, each with an owner who signs in through the kit's own directory. */
export async function createTenants(
  service: ServiceProcess,
  directory: string,
): Promise<readonly [Tenant, Tenant]> {
  const cookie = await service.ownerCookie();
  return [
    await createTenant(service, directory, cookie, 'kit-one'),
    await createTenant(service, directory, cookie, 'kit-two'),
  ];
}

async function createTenant(
  service: ServiceProcess,
  directory: string,
  ownerCookie: string,
  name: string,
): Promise<Tenant> {
  const email = `${name}@kit.example`;
  await signIn(service, directory, name);
  const organisation = await send(service, ownerCookie, '/dashboard/admin/organisations', {
    name,
    slug: name,
  });
  const organisationId = Number(organisation['id']);
  const { text } = await service.get('/dashboard/admin/users/export', {
    cookie: ownerCookie,
    authorization: '',
  });
  const line = text.split('\n').find((row) => row.includes(email)) ?? '';
  const id = /\d+/.exec(line)?.[0];
  if (id === undefined) throw new Error(`the kit could not open the account ${email}`);
  await send(service, ownerCookie, `/dashboard/admin/users/${id}/org`, { org_id: organisationId });
  await send(service, ownerCookie, `/dashboard/admin/users/${id}/role`, { role: 'org_owner' });
  // A change of role ends the sessions of a user.
  return { email, organisationId, cookie: await signIn(service, directory, name) };
}

async function signIn(service: ServiceProcess, directory: string, name: string): Promise<string> {
  const form = { provider: directory, user_name: name, password: PASSWORD, terms: 'on' };
  const { headers, status, text } = await service.submit('/auth/login', '', JSON.stringify(form));
  const [cookie = ''] = headers.getSetCookie().flatMap((each) => /^svc_session=[^;]+/.exec(each) ?? []);
  if (cookie === '') throw new Error(`${name} could not sign in: ${status} ${text.slice(0, 500)}`);
  return cookie;
}

async function send(
  service: ServiceProcess,
  cookie: string,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const { status, text } = await service.submit(path, cookie, JSON.stringify(body));
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as Record<string, unknown>;
}
