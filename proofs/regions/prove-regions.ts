import { Chance } from '../../test/system/chance';
import { Findings, inParallel, numberGiven, runProof } from '../../test/system/findings';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import { isUnmet, staysInRegion, makeCall, type Outcome, planCall } from './calls';
import { Suppliers } from './suppliers';
import { buildWorld, type Region, regions, type World } from './world';

/**
 * Random calls while suppliers fail in every way. In each turn calls are limited to some regions, and any connection
 * to a simulator elsewhere is a breach. `--calls` and `--seed` choose how many and which.
 */
const AT_ONCE = 24;

/** The regions of each turn, its share of all calls, and a supplier that is not there at all. */
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
  const count = numberGiven('calls', 10_000);
  const chance = new Chance(numberGiven('seed', Math.floor(Math.random() * 1e9)));
  const findings = new Findings('prove:regions');
  const suppliers = await Suppliers.start(1);
  let gateway: ProofGateway | undefined;
  try {
    gateway = await startGateway();
    const world = await buildWorld(gateway, suppliers.sites, chance);
    const outcomes: Outcome[] = [];
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
    const idle = (await suppliers.arrivals()).filter(({ requests }) => requests === 0).length;
    findings.add('every simulator was called', idle === 0, `${6 - idle} of 6`);
  } finally {
    await gateway?.stop();
    await suppliers.stop();
  }
  findings.end();
}

async function takeTurn(
  findings: Findings,
  suppliers: Suppliers,
  world: World,
  url: string,
  within: ReadonlySet<Region>,
  count: number,
  chance: Chance,
): Promise<Outcome[]> {
  const calls = Array.from({ length: count }, () => planCall(world, within, chance));
  const before = await suppliers.arrivals();
  const outcomes: Outcome[] = [];
  await inParallel(AT_ONCE, calls, async (call) => void outcomes.push(await makeCall(url, call)));
  const { connections, requests } = await suppliers.outside(within, before);
  const name = within.size === 0 ? 'nowhere' : [...within].join(' + ');
  findings.over(
    `${count} calls that may be answered ${within.size === 0 ? name : `in ${name}`}: arrived elsewhere`,
    count,
    connections + requests,
    `${connections} connections, ${requests} requests`,
  );
  return outcomes;
}

function report(findings: Findings, outcomes: readonly Outcome[]): void {
  const wrong = outcomes.filter((outcome) => !staysInRegion(outcome));
  const unmet = outcomes.filter(({ call }) => isUnmet(call));
  const served = outcomes.filter(({ status }) => status === 200);
  const failovers = served.filter(({ failover }) => failover).length;
  const surfaces = new Set(served.map(({ call }) => call.surface));
  const kept = (some: readonly Outcome[]): number =>
    some.length - some.filter((one) => wrong.includes(one)).length;
  findings.add(
    'calls whose regions cannot be met: 503 sovereign_route_unavailable',
    unmet.length > 0 && kept(unmet) === unmet.length,
    `${kept(unmet)} of ${unmet.length}`,
  );
  const met = outcomes.filter(({ call }) => !isUnmet(call));
  findings.over(
    'all others: never refused for that, and answered from where they may be',
    met.length,
    met.length - kept(met),
    `${kept(met)} of ${met.length}`,
  );
  findings.add(
    'there was something to get wrong',
    served.length > outcomes.length / 3 && failovers > 0 && surfaces.size === 6,
    `${served.length} answered over ${surfaces.size} routes, ${failovers} by another supplier than the first`,
  );
}

runProof(main);
