import { join } from 'node:path';
import { startSimulatorServer, type SimulatorServer } from '../../simulator/server';
import type { BudgetPeriod } from '../../src/kernel';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { ProofNode } from '../../test/system/node';
import { projectFolder } from '../../test/system/program';
import type { InstallationDatabase } from '../../test/system/installation-database';
import type { EvidenceKeyOwner, PriceListEntry, ListedRates } from './evidence';
import { outcomes, priceList, type StyleName, styles } from './price-list';

export interface InvoiceTestbed {
  readonly gateway: ProofGateway;
  readonly simulator: SimulatorServer;
  readonly keys: readonly EvidenceKeyOwner[];
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
const usd = 1_000_000_000n;
const WALLET = 500n * usd;

/** Sets up suppliers, models, prices and customers of every kind with their budgets. */
export async function buildTestbed(seed: number): Promise<InvoiceTestbed> {
  const gateway = await startGateway({
    EXTENSIONS: join(projectFolder, 'test/fixtures/extensions/gates.cjs'),
  });
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

/** The upstream model of a request determines its outcome at the supplier. */
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

type LaneTarget = readonly [supplier: string, upstreamModel: string];

async function addCatalogue({ node }: ProofGateway, simulator: SimulatorServer): Promise<void> {
  const providers = SUPPLIERS.map(({ name, style, settings }) => {
    const url = simulator.lanes.find((lane) => lane.name === name)?.url ?? '';
    return [name, { style, base_url: url, regions: [REGION], api_key: '${SUPPLIER_KEY}', settings }] as const;
  });
  const plain = (Object.keys(styles) as StyleName[]).flatMap((style) =>
    outcomes.map((outcome): [string, LaneTarget[]] => [
      `${style}-${outcome}`,
      [[styles[style], `sim-${outcome}`]],
    ]),
  );
  const lanesByModel: [string, LaneTarget[]][] = [
    ...plain,
    [
      'backed',
      [
        ['open-a', 'sim-flaky'],
        ['open-b', 'sim-steady'],
      ],
    ],
    [
      'broken',
      [
        ['open-a', 'sim-broken'],
        ['open-c', 'sim-steady'],
      ],
    ],
    [
      'mixed',
      [
        ['claude-b', 'sim-flaky'],
        ['open-b', 'sim-steady'],
        ['plain', 'sim-steady'],
      ],
    ],
  ];
  await node.apply({
    providers: Object.fromEntries(providers),
    models: Object.fromEntries(lanesByModel.map(([name, some]) => [name, modelOf(name, some)])),
  });
}

function modelOf(name: string, lanes: readonly LaneTarget[]): object {
  const listedPrices = priceList.filter(({ model }) => model === name);
  const priceFor = (supplier?: string): object => {
    const price = listedPrices.find((one) => one.supplier === supplier);
    return price === undefined ? {} : { price: priceOf(price) };
  };
  return {
    kind: 'chat',
    owned_by: 'proof',
    context_tokens: 200_000,
    max_output_tokens: 8_000,
    lanes: lanes.map(([provider, model]) => ({ provider, model, region: REGION, ...priceFor(provider) })),
    ...priceFor(),
  };
}

const priceOf = ({ rates, perCall, tiers = [] }: PriceListEntry): object => ({
  ...ratesOf(rates),
  ...(perCall === undefined ? {} : { per_call: perCall }),
  ...(tiers.length === 0
    ? {}
    : {
        tiers: tiers.map(({ aboveInputTokens, ...tier }) => ({
          above_input_tokens: aboveInputTokens,
          ...ratesOf(tier),
        })),
      }),
});

/** Spells rates as in a gateway file: `cacheRead` is `cache_read`. */
const ratesOf = (rates: Partial<ListedRates>): object =>
  Object.fromEntries(
    Object.entries(rates).map(([name, text]) => [
      name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`),
      text,
    ]),
  );

const unowned = { userId: null, organisationId: null, departmentId: null, projectId: null };

/** Adds individual payers, an organisation with a payer and a department, and a project with another payer. */
async function addCustomers({ node, rows }: ProofGateway): Promise<Pick<InvoiceTestbed, 'keys' | 'wallets'>> {
  const organisationId = await rows.addOrganisation('proof');
  const [first, second, third] = [await rows.addUser(), await rows.addUser(), await rows.addUser()].map(
    ({ id }) => id,
  ) as [number, number, number];
  const { id: member } = await rows.addUser({ organisationId });
  await rows.query('UPDATE organisation SET billing_user_id = $1 WHERE id = $2', [first, organisationId]);
  const departmentId = await rows.add(
    "INSERT INTO department (organisation_id, name) VALUES ($1, 'proof')",
    organisationId,
  );
  const projectId = await rows.add(
    "INSERT INTO project (name, created_by, billing_user_id) VALUES ('proof', $1, $2)",
    ...[second, third],
  );
  const wallets: Record<number, string> = {};
  for (const walletId of [first, second, third]) {
    wallets[walletId] = String(WALLET);
    await rows.credit(walletId, WALLET);
  }
  const budgets = {
    organisation: organisationId,
    department: departmentId,
    project: projectId,
    user: member,
  };
  for (const [kind, id] of Object.entries(budgets)) await rows.limit(kind, id, 1_000n * usd);
  const issue = keyMaker(node, rows);
  const keys = [
    await issue({ userId: second }, 'daily', second),
    await issue({ userId: third }, 'rolling', third),
    await issue({ userId: member, organisationId }, 'monthly', first),
    await issue({ userId: second, projectId }, 'monthly', third),
    await issue({ departmentId, organisationId }, 'daily', first),
  ];
  return { keys, wallets };
}

type Owner = Omit<EvidenceKeyOwner, 'key' | 'keyId' | 'payerId'>;

const keyMaker =
  (node: ProofNode, rows: InstallationDatabase) =>
  async (owner: Partial<Owner>, period: BudgetPeriod, payerId: number): Promise<EvidenceKeyOwner> => {
    const keyOwner = { ...unowned, ...owner };
    const { text, publicId } = await node.addKey({
      user_id: keyOwner.userId ?? undefined,
      project_id: keyOwner.projectId ?? undefined,
      department_id: keyOwner.departmentId ?? undefined,
      budget_limit: 400,
      budget_period: period,
    });
    const [row] = await rows.query<{ id: number }>('SELECT id FROM api_key WHERE public_id = $1', [publicId]);
    return { ...keyOwner, key: text, keyId: row?.id ?? 0, payerId };
  };
