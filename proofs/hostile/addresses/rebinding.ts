import { AddressGuard, type AddressRefused } from '#product/platform';
import type { Findings } from '../../../test/system/findings';
import type { EgressTestRoute } from '../ways/egress-test-route';
import type { Canary } from './canary';

const timeouts = {
  supplierConnections: 4,
  supplierRestMs: 0,
  supplierConnectTimeoutMs: 500,
  supplierFirstByteTimeoutMs: 500,
  supplierIdleTimeoutMs: 500,
  supplierTotalTimeoutMs: 1_000,
};
/** The first connection also pays for creating tunnels. */
const longTimeouts = { ...timeouts, supplierConnectTimeoutMs: 10_000, supplierTotalTimeoutMs: 20_000 };
const PUBLIC = '93.184.215.14';
const ROUNDS = 20;

/** The proxy resolves names itself (docs/egress.md); this row of the proof states it. */
async function reportProxyResolution(findings: Findings, egressRoute: EgressTestRoute): Promise<void> {
  const address = 'https://split-horizon.example';
  egressRoute.allowTarget('http://split-horizon.example:443');
  const before = egressRoute.useCount;
  const guard = new AddressGuard([], () => Promise.resolve([PUBLIC]));
  await connect(guard, address, egressRoute, longTimeouts);
  findings.add(
    'a name that is public here is handed to the proxy, whatever it stands for there: as documented',
    egressRoute.useCount === before + 1,
    `${egressRoute.useCount - before} of 1`,
  );
}

/** A host name that resolves to a public address when checked, and to this machine when connected to. */
export async function proveRebinding(
  findings: Findings,
  canary: Canary,
  egressRoute: EgressTestRoute,
): Promise<void> {
  const port = canary.port;
  const host = 'rebind.example';
  for (const [what, answers] of [
    ['public at the check, loopback at the connection', [[PUBLIC], ['127.0.0.1']]],
    ['loopback hidden among public ones', [[PUBLIC, '127.0.0.1', '8.8.8.8']]],
    ['loopback as IPv6, mapped', [[PUBLIC], ['::ffff:127.0.0.1']]],
    ['the metadata address', [[PUBLIC], ['169.254.169.254']]],
  ] as const) {
    let [lookupCount, refused] = [0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      const lookupsBefore = lookupCount;
      const guard = new AddressGuard(
        // Only the port is allowed, at the public address: the guard has to decide by address.
        [{ host, port, address: PUBLIC, prefix: 32, family: 'ipv4' }],
        () => Promise.resolve(answers[Math.min(lookupCount++ - lookupsBefore, answers.length - 1)] ?? []),
      );
      const address = `${egressRoute.means.supplier === 'plain' ? 'http' : 'https'}://${host}:${port}`;
      await guard.checkReachable(address);
      if ((await connect(guard, address, egressRoute)) === 'ADDRESS_REFUSED') refused += 1;
    }
    findings.add(
      `a rebound name, ${what}: refused at the connection`,
      refused === ROUNDS,
      `${refused} of ${ROUNDS}`,
    );
  }
  if (egressRoute.means.proxy !== 'none') await reportProxyResolution(findings, egressRoute);
}

async function connect(
  guard: AddressGuard,
  address: string,
  egressRoute: EgressTestRoute,
  bounds = timeouts,
): Promise<string> {
  const pools = egressRoute.transport(bounds, guard);
  const outcome = await new Promise<string>((resolve) => {
    pools.dispatch(
      { url: new URL(address), method: 'GET', headers: {} },
      {
        onEnd: () => resolve('answered'),
        onBroken: (error) => resolve((error as AddressRefused).code),
      },
    );
  });
  pools.close();
  return outcome;
}
