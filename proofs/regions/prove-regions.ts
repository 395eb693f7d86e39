import { SeededRandom } from '../../test/system/seeded-random';
import { Findings, inParallel, numberOption, runProof } from '../../test/system/findings';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import { isUnmet, staysInRegion, makeCall, type RegionOutcome, planCall } from './calls';
import { RegionSuppliers } from './suppliers';
import { buildWorld, type Region, regions, type RegionWorld } from './world';

/**
 * Makes random calls while suppliers fail in every way. Each turn limits calls to some regions, and any connection to a
 * simulator elsewhere is a violation; `--calls` and `--seed` select the calls.
 */
const CONCURRENCY = 24;

/** Regions of each turn, its share of all calls, and a supplier that refuses connections. */
const turns: readonly { within: readonly Region[]; share: number; refuses?: string }[] = [
  { within: [], share: 0.06 },
  { within: ['eu'], share: 0.17 },
  { within: ['us'], share: 0.17, refuses: 'us-1' },
  { within: ['ap'], share: 0.17 },
  { within: ['eu', 'us'], share: 0.12 },
  { within: ['us', 'ap'], share: 0.12, refuses: 'ap-2' },
  { within: ['eu', 'ap'], share: 0.12 },
  { within: regions, share: 0.07 },
];

async function main(): Promise<void> {
  const count = numberOption('calls', 10_000);
  const chance = new SeededRandom(numberOption('seed', Math.floor(Math.random() * 1e9)));
  const findings = new Findings('prove:regions');
  const suppliers = await RegionSuppliers.start(1);
  let gateway: ProofGateway | undefined;
  try {
    gateway = await startGateway();
    const world = await buildWorld(gateway, suppliers.sites, chance);
    const outcomes: RegionOutcome[] = [];
    for (const { within, share, refuses } of turns) {
      await suppliers.clearFaults();
      await suppliers.addFaults();
      if (refuses !== undefined) await suppliers.refuse(refuses);
      const calls = Math.round(count * share);
      outcomes.push(
        ...(await takeTurn(findings, suppliers, world, gateway.node.url, new Set(within), calls, chance)),
      );
    }
    report(findings, outcomes);
    const idle = (await suppliers.traffic()).filter(({ requests }) => requests === 0).length;
    findings.add('every simulator was called', idle === 0, `${6 - idle} of 6`);
  } finally {
    await gateway?.stop();
    await suppliers.stop();
  }
  findings.end();
}

async function takeTurn(
  findings: Findings,
  suppliers: RegionSuppliers,
  world: RegionWorld,
  url: string,
  within: ReadonlySet<Region>,
  count: number,
  chance: SeededRandom,
): Promise<RegionOutcome[]> {
  const calls = Array.from({ length: count }, () => planCall(world, within, chance));
  const before = await suppliers.traffic();
  const outcomes: RegionOutcome[] = [];
  await inParallel(CONCURRENCY, calls, async (call) => void outcomes.push(await makeCall(url, call)));
  const { connections, requests } = await suppliers.trafficOutside(within, before);
  const name = within.size === 0 ? 'nowhere' : [...within].join(' + ');
  findings.expectNoneWrong(
    `${count} calls that may be answered ${within.size === 0 ? name : `in ${name}`}: arrived elsewhere`,
    count,
    connections + requests,
    `${connections} connections, ${requests} requests`,
  );
  return outcomes;
}

function report(findings: Findings, outcomes: readonly RegionOutcome[]): void {
  const violations = outcomes.filter((outcome) => !staysInRegion(outcome));
  const unmet = outcomes.filter(({ call }) => isUnmet(call));
  const servedOutcomes = outcomes.filter(({ status }) => status === 200);
  const failovers = servedOutcomes.filter(({ failover }) => failover).length;
  const surfaces = new Set(servedOutcomes.map(({ call }) => call.surface));
  const countCompliant = (some: readonly RegionOutcome[]): number =>
    some.length - some.filter((one) => violations.includes(one)).length;
  findings.add(
    'calls whose regions cannot be met: 503 sovereign_route_unavailable',
    unmet.length > 0 && countCompliant(unmet) === unmet.length,
    `${countCompliant(unmet)} of ${unmet.length}`,
  );
  const satisfiable = outcomes.filter(({ call }) => !isUnmet(call));
  findings.expectNoneWrong(
    'all others: never refused for that, and answered from where they may be',
    satisfiable.length,
    satisfiable.length - countCompliant(satisfiable),
    `${countCompliant(satisfiable)} of ${satisfiable.length}`,
  );
  findings.add(
    'there was something to get wrong',
    servedOutcomes.length > outcomes.length / 3 && failovers > 0 && surfaces.size === 6,
    `${servedOutcomes.length} answered over ${surfaces.size} routes, ${failovers} by another supplier than the first`,
  );
}

runProof(main);
