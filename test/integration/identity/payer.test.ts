import { Organisation, PayerService, UserAccount } from '#product/identity';
import { startTestApp, type TestApp } from '../../support/app';

describe('a payer is found by who owns the thing', () => {
  let app: TestApp;
  let payers: PayerService;
  let organisation: number;
  let department: number;
  let project: number;
  const users: Record<string, number> = {};

  const user = async (name: string, fields: Partial<UserAccount> = {}): Promise<number> => {
    const people = app.database.source.getRepository(UserAccount);
    const row = people.create({
      email: `${name}@example.com`,
      displayName: name,
      status: 'active',
      ...fields,
    });
    await people.insert(row);
    return (users[name] = row.id);
  };
  const set = (table: string, id: number, column: string, value: unknown): Promise<unknown[]> =>
    app.database.query(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [id, value]);
  const idOf = async (sql: string, values: unknown[]): Promise<number> =>
    (await app.database.query<{ id: number }>(sql, values))[0]?.id ?? 0;
  const ask = (owner: Partial<Parameters<PayerService['standingOf']>[0]>) =>
    payers.standingOf({ userId: null, organisationId: null, departmentId: null, projectId: null, ...owner });

  beforeAll(async () => {
    app = await startTestApp();
    payers = app.application.get(PayerService, { strict: false });
    const organisations = app.database.source.getRepository(Organisation);
    const row = organisations.create({ name: 'Acme', slug: 'acme' });
    await organisations.insert(row);
    organisation = row.id;
    department = await idOf('INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id', [
      organisation,
      'Research',
    ]);
    await user('caller', { organisationId: organisation, departmentId: department });
    for (const name of ['delegate', 'organisation', 'project']) await user(name);
    project = await idOf(
      'INSERT INTO project (organisation_id, name, created_by) VALUES ($1, $2, $3) RETURNING id',
      [organisation, 'Web', users.caller],
    );
  });
  afterAll(() => app.close());

  test('the caller, then the delegate, then the organisation’s billing user, then the project’s', async () => {
    const payer = async (): Promise<number | null> =>
      (await ask({ userId: users.caller ?? null, projectId: project })).payerUserId;
    expect(await payer()).toBe(users.caller);
    await set('user_account', users.caller ?? 0, 'delegate_user_id', users.delegate);
    expect(await payer()).toBe(users.delegate);
    await set('organisation', organisation, 'billing_user_id', users.organisation);
    expect(await payer()).toBe(users.organisation);
    await set('project', project, 'billing_user_id', users.project);
    expect(await payer()).toBe(users.project);
  });

  test('everything a request counts against follows from whose it is', async () => {
    expect(await ask({ userId: users.caller ?? null })).toMatchObject({
      userId: users.caller,
      organisationId: organisation,
      departmentId: department,
      projectId: null,
      userStatus: 'active',
    });
    expect(await ask({ projectId: project })).toMatchObject({ organisationId: organisation, userId: null });
    expect(await ask({ departmentId: department })).toMatchObject({ organisationId: organisation });
  });

  test('what belongs to an organisation without a billing user has nobody to pay for it', async () => {
    await set('organisation', organisation, 'billing_user_id', null);
    expect((await ask({ organisationId: organisation })).payerUserId).toBeNull();
  });

  test('exemption is the payer’s or the organisation’s', async () => {
    const exempt = async (): Promise<boolean> => (await ask({ userId: users.caller ?? null })).billingExempt;
    expect(await exempt()).toBe(false);
    await set('user_account', users.delegate ?? 0, 'billing_exempt', true);
    expect(await exempt()).toBe(true);
    await set('user_account', users.delegate ?? 0, 'billing_exempt', false);
    await set('organisation', organisation, 'billing_exempt', true);
    expect(await exempt()).toBe(true);
  });
});
