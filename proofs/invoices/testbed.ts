import { startSimulatorServer, type SimulatorServer } from '../../simulator/server';
import { Ledger, Limits } from '../../src/billing';
import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '../../src/catalogue';
import { Organisation, UserAccount } from '../../src/identity';
import {
  platformScope,
  type BudgetPeriod,
  parseUsd,
  parseUsdPerMillion,
  priceRates,
  type PriceRates,
} from '../../src/kernel';
import { KeysService } from '../../src/keys';
import { Database, type Tx } from '../../src/platform';
import { type ProofGateway, startGateway } from '../support/gateway';
import type { KeyOwner, ListedPrice, ListedRates } from './evidence';
import { outcomes, priceList, type StyleName, styles } from './price-list';

export interface InvoiceTestbed {
  readonly gateway: ProofGateway;
  readonly simulator: SimulatorServer;
  readonly keys: readonly KeyOwner[];
  readonly wallets: Readonly<Record<number, string>>;
  stop(): Promise<void>;
}

const SUPPLIERS = [
  { name: 'open-a', style: 'openai-style', settings: { profile: 'openai' } },
  { name: 'open-b', style: 'openai-style', settings: { profile: 'openai' } },
  { name: 'open-c', style: 'openai-style', settings: { profile: 'openai' } },
  { name: 'plain', style: 'openai-style', settings: {} },
  { name: 'claude-a', style: 'messages-style', settings: {} },
  { name: 'claude-b', style: 'messages-style', settings: {} },
] as const;
const REGION = 'here';
const JOURNAL_LENGTH = 1_000_000;
const WALLET = '500';

/** Suppliers, models, prices, and customers of every kind with their budgets. */
export async function buildTestbed(seed: number): Promise<InvoiceTestbed> {
  const gateway = await startGateway();
  try {
    const simulator = await startSimulatorServer({
      name: 'unused',
      seed,
      ringSize: JOURNAL_LENGTH,
      lanes: SUPPLIERS.map(({ name }) => ({ name, region: REGION })),
    });
    await addOutcomes(simulator.controlUrl);
    await addCatalogue(gateway, simulator);
    const { keys, wallets } = await addCustomers(gateway);
    const stop = async (): Promise<void> => {
      await gateway.stop();
      await simulator.stop();
    };
    return { gateway, simulator, keys, wallets, stop };
  } catch (error) {
    await gateway.stop();
    throw error;
  }
}

/** The upstream model of a request decides its outcome at the supplier. */
async function addOutcomes(controlUrl: string): Promise<void> {
  const rules = [
    { match: { model: 'sim-silent' }, fault: { kind: 'wrong-usage', variant: 'absent' } },
    { match: { model: 'sim-twice' }, fault: { kind: 'wrong-usage', variant: 'double' } },
    { match: { model: 'sim-cut' }, fault: { kind: 'cut', after: 17 } },
    { match: { model: 'sim-left' }, fault: { kind: 'stall', after: 14 } },
    { match: { model: 'sim-unfinished' }, fault: { kind: 'no-terminator' } },
    { match: { model: 'sim-flaky', probability: 0.25 }, fault: { kind: 'status', status: 500 } },
    { match: { model: 'sim-flaky', probability: 0.1 }, fault: { kind: 'reset' } },
    { match: { model: 'sim-broken', probability: 0.35 }, fault: { kind: 'cut', after: 13 } },
  ];
  for (const rule of rules) {
    const answer = await fetch(`${controlUrl}/faults`, { method: 'POST', body: JSON.stringify(rule) });
    if (!answer.ok) throw new Error(await answer.text());
  }
}

async function addCatalogue({ service }: ProofGateway, simulator: SimulatorServer): Promise<void> {
  const { application } = service;
  const editor = new CatalogueEditor();
  const credentials = application.get(CredentialEditor, { strict: false });
  await application.get(Database).transaction(async (tx) => {
    for (const { name, style, settings } of SUPPLIERS) {
      const baseUrl = simulator.lanes.find((lane) => lane.name === name)?.url ?? '';
      const { id: providerId } = await editor.upsertProvider(tx, { name, style, baseUrl, settings });
      const kind = style === 'messages-style' ? 'header' : 'bearer';
      await credentials.put(tx, { providerId, label: 'proof', kind, secret: 'sim-proof' });
    }
    for (const style of Object.keys(styles) as StyleName[]) {
      for (const outcome of outcomes) {
        await addModel(tx, editor, `${style}-${outcome}`, [[styles[style], `sim-${outcome}`]]);
      }
    }
    await addModel(tx, editor, 'backed', [
      ['open-a', 'sim-flaky'],
      ['open-b', 'sim-steady'],
    ]);
    await addModel(tx, editor, 'broken', [
      ['open-a', 'sim-broken'],
      ['open-c', 'sim-steady'],
    ]);
    await addModel(tx, editor, 'mixed', [
      ['claude-b', 'sim-flaky'],
      ['open-b', 'sim-steady'],
      ['plain', 'sim-steady'],
    ]);
  });
  await application.get(CatalogueService).reload();
}

async function addModel(
  tx: Tx,
  editor: CatalogueEditor,
  name: string,
  ways: readonly (readonly [supplier: string, upstreamModel: string])[],
): Promise<void> {
  const prices = new PriceService();
  await editor.upsertModel(tx, {
    name,
    kind: 'chat',
    ownedBy: 'proof',
    contextTokens: 200_000,
    maxOutputTokens: 8_000,
  });
  const lanes = await editor.setLanes(
    tx,
    name,
    ways.map(([provider, upstreamModel]) => ({ provider, upstreamModel, region: REGION })),
  );
  for (const listed of priceList.filter(({ model }) => model === name)) {
    const place = ways.findIndex(([supplier]) => supplier === listed.supplier);
    const lane = lanes[place];
    await prices.addPrice(tx, {
      model: name,
      ...(lane === undefined ? {} : { laneId: lane.id }),
      source: 'proof',
      rates: ratesOf(listed),
    });
  }
}

function ratesOf({ rates, perCall, tiers = [] }: ListedPrice): PriceRates {
  return priceRates({
    ...parsed(rates),
    perCallNano: parseUsd(perCall ?? '0'),
    tiers: tiers.map(({ aboveInputTokens, ...tier }) => ({ aboveInputTokens, ...parsed(tier) })),
  });
}

const parsed = (rates: Partial<ListedRates>): Partial<Record<keyof ListedRates, bigint>> =>
  Object.fromEntries(Object.entries(rates).map(([name, text]) => [name, parseUsdPerMillion(text)]));

const unowned = { userId: null, organisationId: null, departmentId: null, projectId: null };

/** Payers of their own, an organisation with a payer and a department, a project with another payer. */
async function addCustomers({ service }: ProofGateway): Promise<Pick<InvoiceTestbed, 'keys' | 'wallets'>> {
  const { application } = service;
  return application.get(Database).transaction(async (tx) => {
    const limits = application.get(Limits, { strict: false });
    const organisation = tx.getRepository(Organisation).create({ name: 'Proof', slug: 'proof' });
    await tx.getRepository(Organisation).insert(organisation);
    const [first, second, third] = [
      await addUser(tx, 'first'),
      await addUser(tx, 'second'),
      await addUser(tx, 'third'),
    ];
    const member = await addUser(tx, 'member', organisation.id);
    await tx.query('UPDATE organisation SET billing_user_id = $1 WHERE id = $2', [first, organisation.id]);
    const departmentId = await idOf(
      tx,
      "INSERT INTO department (organisation_id, name) VALUES ($1, 'proof') RETURNING id",
      [organisation.id],
    );
    const projectId = await idOf(
      tx,
      "INSERT INTO project (name, created_by, billing_user_id) VALUES ('proof', $1, $2) RETURNING id",
      [second, third],
    );
    const wallets: Record<number, string> = {};
    for (const walletId of [first, second, third]) {
      const amount = parseUsd(WALLET);
      wallets[walletId] = String(amount);
      const posting = {
        walletId,
        amount,
        against: 'adjustment',
        kind: 'topup',
        ref: `proof ${walletId}`,
      } as const;
      await application.get(Ledger, { strict: false }).post(tx, posting);
    }
    for (const [kind, id] of [
      ['organisation', organisation.id],
      ['department', departmentId],
      ['project', projectId],
      ['user', member],
    ] as const) {
      await limits.set(tx, { kind, id }, { period: 'monthly', limit: parseUsd('1000') });
    }
    const issue = keyMaker(tx, application.get(KeysService, { strict: false }));
    const keys = [
      await issue({ userId: second }, 'daily', second),
      await issue({ userId: third }, 'rolling', third),
      await issue({ userId: member, organisationId: organisation.id }, 'monthly', first),
      await issue({ userId: second, projectId }, 'monthly', third),
      await issue({ departmentId, organisationId: organisation.id }, 'daily', first),
    ];
    return { keys, wallets };
  });
}

type Owner = Omit<KeyOwner, 'key' | 'keyId' | 'payerId'>;

const keyMaker =
  (tx: Tx, service: KeysService) =>
  async (owner: Partial<Owner>, period: BudgetPeriod, payerId: number): Promise<KeyOwner> => {
    const whose = { ...unowned, ...owner };
    const { id, text } = await service.issue(platformScope, tx, {
      ...whose,
      kind: 'client',
      name: 'proof',
      createdBy: 'proof',
      budget: { period, limit: parseUsd('400') },
    });
    return { ...whose, key: text, keyId: id, payerId };
  };

async function addUser(tx: Tx, name: string, organisationId: number | null = null): Promise<number> {
  const people = tx.getRepository(UserAccount);
  const user = people.create({
    email: `${name}@example.com`,
    displayName: name,
    status: 'active',
    organisationId,
  });
  await people.insert(user);
  return user.id;
}

async function idOf(tx: Tx, statement: string, parameters: unknown[]): Promise<number> {
  const rows = await tx.query<{ id: number }[]>(statement, parameters);
  return rows[0]?.id ?? 0;
}
