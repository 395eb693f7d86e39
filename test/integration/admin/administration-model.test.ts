import fc from 'fast-check';
import { Ledger } from '#product/billing';
import { CatalogueService } from '#product/catalogue';
import { addKey, addUser } from '../../support/users';
import { AdminHouse } from './admin-fixture';

/** Model-based test of the administration: visibility, membership, and conservation of money and records. */
let fixture: AdminHouse;

beforeAll(async () => {
  fixture = await AdminHouse.open();
});
afterAll(() => fixture.close());

const rowsOf = <AdministrationRow>(statement: string, values: unknown[] = []): Promise<AdministrationRow[]> =>
  fixture.app.database.query<AdministrationRow>(statement, values);

/** Columns that reference a row of another table, without and with a foreign key. */
const references = [
  ['user_account', 'organisation_id', 'organisation'],
  ['user_account', 'department_id', 'department'],
  ['department', 'organisation_id', 'organisation'],
  ['project', 'organisation_id', 'organisation'],
  ['project', 'billing_user_id', 'user_account'],
  ['api_key', 'organisation_id', 'organisation'],
  ['api_key', 'department_id', 'department'],
  ['api_key', 'project_id', 'project'],
  ['api_key', 'user_id', 'user_account'],
  ['invite', 'organisation_id', 'organisation'],
  ['organisation', 'billing_user_id', 'user_account'],
  ['model_organisation_access', 'organisation_id', 'organisation'],
  ['model_organisation_access', 'model_id', 'model'],
  ['model_policy', 'organisation_id', 'organisation'],
  ['department_model_access', 'department_id', 'department'],
  ['reseller_domain', 'organisation_id', 'organisation'],
  ['lane', 'provider_id', 'provider'],
  ['lane', 'model_id', 'model'],
  ['model_alias', 'model_id', 'model'],
  ['price', 'model_id', 'model'],
  ['provider_credential', 'provider_id', 'provider'],
] as const;

async function findOrphans(): Promise<string[]> {
  const orphanLists = await Promise.all(
    references.map(async ([table, column, target]) => {
      const [row] = await rowsOf<{ count: number }>(
        `SELECT count(*)::integer AS count FROM ${table} a
          WHERE a.${column} IS NOT NULL AND NOT EXISTS (SELECT FROM ${target} b WHERE b.id = a.${column})`,
      );
      return (row?.count ?? 0) > 0 ? [`${table}.${column}: ${row?.count}`] : [];
    }),
  );
  const [crossed] = await rowsOf<{ count: number }>(
    `SELECT count(*)::integer AS count FROM user_account u JOIN department d ON d.id = u.department_id
      WHERE d.organisation_id IS DISTINCT FROM u.organisation_id`,
  );
  const [dead] = await rowsOf<{ count: number }>(
    `SELECT count(*)::integer AS count FROM lane l JOIN provider p ON p.id = l.provider_id
      WHERE l.removed_at IS NULL AND p.removed_at IS NOT NULL`,
  );
  return [
    ...orphanLists.flat(),
    ...((crossed?.count ?? 0) > 0 ? ['a person in a department of another organisation'] : []),
    ...((dead?.count ?? 0) > 0 ? ['a lane to a provider that is gone'] : []),
  ];
}

describe('Provider visibility', () => {
  const providers = ['north', 'south', 'east'];
  const ids = new Map<string, number>();

  beforeAll(async () => {
    for (const name of providers) {
      const { json } = await fixture.admin.post('/dashboard/admin/providers', {
        name,
        style: 'openai-style',
        base_url: `https://${name}.example/v1`,
        settings: { anonymous: true },
      });
      ids.set(name, json['id'] as number);
    }
    for (const model of ['m0', 'm1', 'm2'])
      await fixture.admin.post('/dashboard/admin/models/create', {
        model,
        kind: 'chat',
        owned_by: 'tests',
        input_price: 1,
        output_price: 1,
      });
  });

  const change = fc.oneof(
    fc.record({
      kind: fc.constant('visible' as const),
      provider: fc.constantFrom(...providers),
      visible: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('chain' as const),
      model: fc.constantFrom('m0', 'm1', 'm2'),
      chain: fc.shuffledSubarray(providers),
    }),
    fc.record({ kind: fc.constant('remove' as const), provider: fc.constantFrom(...providers) }),
  );

  test('hiding a provider promotes backups, showing it restores the chain, and a provider in use cannot be removed', async () => {
    const hidden = new Set<string>();
    const chains = new Map<string, readonly string[]>([
      ['m0', []],
      ['m1', []],
      ['m2', []],
    ]);
    const perform = async (one: typeof change extends fc.Arbitrary<infer T> ? T : never): Promise<void> => {
      if (one.kind === 'visible') {
        const { json } = await fixture.admin.post(
          `/dashboard/admin/providers/${ids.get(one.provider)}/visibility`,
          {
            visible: one.visible,
          },
        );
        if (one.visible) hidden.delete(one.provider);
        else hidden.add(one.provider);
        const affectedChains = [...chains.values()].filter((chain) => chain.includes(one.provider));
        const otherProviders = (chain: readonly string[]): string[] =>
          chain.filter((name) => name !== one.provider && !hidden.has(name));
        expect(json).toMatchObject({
          models: affectedChains.length,
          without_backup: affectedChains.filter((chain) => otherProviders(chain).length === 0).length,
        });
      } else if (one.kind === 'chain') {
        const lanes = one.chain.map((provider) => ({ provider, upstream_model: 'x', region: 'eu' }));
        const { status } = await fixture.admin.post('/dashboard/admin/models/update', {
          model: one.model,
          lanes,
        });
        expect(status).toBe(200);
        chains.set(one.model, one.chain);
      } else {
        const isUsed = [...chains.values()].some((chain) => chain.includes(one.provider));
        const { status } = await fixture.admin.post(
          `/dashboard/admin/providers/${ids.get(one.provider)}/delete`,
          {},
        );
        expect(status).toBe(isUsed ? 409 : 200);
        if (isUsed) return;
        hidden.delete(one.provider);
        const recreateResponse = await fixture.admin.post('/dashboard/admin/providers', {
          name: one.provider,
          style: 'openai-style',
          base_url: `https://${one.provider}.example/v1`,
          settings: { anonymous: true },
        });
        ids.set(one.provider, recreateResponse.json['id'] as number);
      }
    };
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 4, maxLength: 10 }), async (changes) => {
        for (const one of changes) await perform(one);
        const catalogue = fixture.app.application.get(CatalogueService);
        await catalogue.reload();
        for (const [model, chain] of chains) {
          const servedProviders = catalogue.snapshot.model(model)?.lanes.map(({ provider }) => provider.name);
          expect([model, servedProviders]).toEqual([model, chain.filter((name) => !hidden.has(name))]);
        }
        expect(await findOrphans()).toEqual([]);
      }),
      { numRuns: 15 },
    );
  }, 120_000);
});

describe('Merge and deletion of organisations', () => {
  /** Sum of all wallets. */
  const total = async (): Promise<bigint> => {
    const [row] = await rowsOf<{ total: string }>(
      `SELECT coalesce(sum(e.amount), 0)::text AS total FROM ledger_entry e
         JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'`,
    );
    return BigInt(row?.total ?? '0');
  };
  const credit = (walletId: number, amount: bigint): Promise<unknown> =>
    fixture.app.database.transaction((tx) =>
      fixture.app.application
        .get(Ledger)
        .post(tx, { walletId, amount, against: 'adjustment', kind: 'test', ref: `${walletId} ${amount}` }),
    );
  const balanceOf = async (id: number): Promise<bigint> =>
    (await fixture.app.application.get(Ledger).wallet(id)).balance;

  let organisationCount = 0;
  /** Creates an organisation with users, a department, a project, keys, a promotion grant and money. */
  async function createOrganisation(
    people: number,
    pays: boolean,
  ): Promise<{ id: number; members: number[] }> {
    const id = await fixture.organisation(`org-${(organisationCount += 1)}`);
    const [department] = await rowsOf<{ id: number }>(
      `INSERT INTO department (organisation_id, name) VALUES ($1, 'Same name') RETURNING id`,
      [id],
    );
    const members: number[] = [];
    for (let number = 0; number < people; number += 1) {
      const user = await addUser(fixture.app);
      await rowsOf('UPDATE user_account SET organisation_id = $2, department_id = $3 WHERE id = $1', [
        user,
        id,
        number === 0 ? department?.id : null,
      ]);
      await addKey(fixture.app, user);
      await credit(user, BigInt(number + 1) * 1_000_000_000n);
      members.push(user);
    }
    if (people > 0)
      await rowsOf(`INSERT INTO project (organisation_id, name, created_by) VALUES ($1, 'Project', $2)`, [
        id,
        members[0],
      ]);
    await rowsOf(
      'INSERT INTO model_organisation_access (model_id, organisation_id, granted) SELECT id, $1, true FROM model LIMIT 1',
      [id],
    );
    if (pays && people > 0)
      await rowsOf('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [id, members[0]]);
    return { id, members };
  }

  test('a merge keeps users, keys, projects and money, and leaves no rows of its sources', async () => {
    const mergeShape = fc.record({
      target: fc.nat(2),
      sources: fc.array(fc.nat(2), { minLength: 1, maxLength: 2 }),
      pays: fc.boolean(),
      named: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(mergeShape, async ({ target, sources, pays, named }) => {
        const targetOrganisation = await createOrganisation(target, pays);
        const sourceOrganisations = [];
        for (const people of sources) sourceOrganisations.push(await createOrganisation(people, pays));
        const allMembers = [targetOrganisation, ...sourceOrganisations].flatMap(({ members }) => members);
        const totalBefore = await total();
        const money = (await Promise.all(allMembers.map(balanceOf))).reduce((sum, one) => sum + one, 0n);
        const { status, json } = await fixture.admin.post('/dashboard/admin/organisations/merge', {
          target_org_id: targetOrganisation.id,
          source_org_ids: sourceOrganisations.map(({ id }) => id),
          ...(named && allMembers.length > 0 ? { billing_user_id: allMembers.at(-1) } : {}),
        });
        expect({ status, json }).toMatchObject({ status: 200 });
        const membersAfter = await rowsOf<{ id: number }>(
          'SELECT id FROM user_account WHERE organisation_id = $1 ORDER BY id',
          [targetOrganisation.id],
        );
        expect(membersAfter.map(({ id }) => id)).toEqual(allMembers.toSorted((a, b) => a - b));
        const remainingSources = await rowsOf('SELECT id FROM organisation WHERE id = ANY ($1)', [
          sourceOrganisations.map(({ id }) => id),
        ]);
        expect(remainingSources).toEqual([]);
        const keys = await rowsOf('SELECT 1 FROM api_key WHERE user_id = ANY ($1)', [allMembers]);
        expect(keys).toHaveLength(allMembers.length);
        expect((await Promise.all(allMembers.map(balanceOf))).reduce((sum, one) => sum + one, 0n)).toBe(
          money,
        );
        expect(await total()).toBe(totalBefore);
        expect(await findOrphans()).toEqual([]);
      }),
      { numRuns: 10 },
    );
  }, 120_000);

  test('a merge keeps scores and evaluation costs, and cancels pending evaluations', async () => {
    const targetOrganisation = await createOrganisation(1, false);
    const source = await createOrganisation(1, false);
    await rowsOf(
      `WITH taken AS (
         INSERT INTO quality_sample (request_id, created_at, organisation_id, user_id, key_id, surface,
           requested_model, served_model, bucket, language, sampled_by, inclusion_prob, state, content, content_until)
         SELECT gen_random_uuid(), now(), $1, $2, 1, 'chat', 'm', 'm', 'general/short', 'en', 'rate', 1, state,
                '\\x00', now() + interval '1 day' FROM unnest(ARRAY['learned', 'waiting']) AS state
         RETURNING *),
       call AS (
         INSERT INTO evaluation_call (call_id, organisation_id, request_id, purpose, model, expected_nano, cost_nano)
         SELECT gen_random_uuid(), organisation_id, request_id, 'judge', 'm', 7, 7 FROM taken)
       INSERT INTO quality_score (request_id, organisation_id, created_at, model, role, supplier, tokens_in, tokens_out,
         cost_nano, latency_ms, answer_length, content)
       SELECT request_id, organisation_id, created_at, 'm', 'served', 's', 1, 1, 1, 1, 1, '\\x00' FROM taken`,
      [source.id, source.members[0]],
    );
    const { status } = await fixture.admin.post('/dashboard/admin/organisations/merge', {
      target_org_id: targetOrganisation.id,
      source_org_ids: [source.id],
    });
    expect(status).toBe(200);
    expect(
      await rowsOf(
        `SELECT q.state, q.closed_by, q.content IS NULL AS "isGone", s.content IS NULL AS "isAnswerGone",
                c.cost_nano::integer AS cost
           FROM quality_sample q JOIN quality_score s USING (request_id) JOIN evaluation_call c USING (request_id)
          WHERE q.organisation_id = $1 AND s.organisation_id = $1 AND c.organisation_id = $1 ORDER BY 1`,
        [targetOrganisation.id],
      ),
    ).toEqual([
      { state: 'closed', closed_by: 'merged', isGone: true, isAnswerGone: true, cost: 7 },
      { state: 'learned', closed_by: null, isGone: false, isAnswerGone: false, cost: 7 },
    ]);
  });

  test('only an empty organisation can be deleted, and deletion removes all of its rows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1), async (people) => {
        const { id } = await createOrganisation(people, false);
        const refusal = await fixture.admin.post(`/dashboard/admin/organisations/${id}/delete`, {});
        // A department is enough to prevent the deletion.
        expect(refusal.status).toBe(409);
        await rowsOf(
          'UPDATE user_account SET organisation_id = NULL, department_id = NULL WHERE organisation_id = $1',
          [id],
        );
        await rowsOf('DELETE FROM project WHERE organisation_id = $1', [id]);
        await rowsOf('DELETE FROM department WHERE organisation_id = $1', [id]);
        const totalBefore = await total();
        const deletion = await fixture.admin.post(`/dashboard/admin/organisations/${id}/delete`, {});
        expect({ status: deletion.status, json: deletion.json }).toMatchObject({ status: 200 });
        expect(await total()).toBe(totalBefore);
        expect(await findOrphans()).toEqual([]);
      }),
      { numRuns: 4 },
    );
  });
});
