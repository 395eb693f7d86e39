import { AddressGuard, type AddressRefused } from '#product/platform';
import type { Findings } from '../../../test/system/findings';
import type { WayOut } from '../ways/way';
import type { Canary } from './canary';

const times = {
  supplierConnections: 4,
  supplierRestMs: 0,
  supplierConnectTimeoutMs: 500,
  supplierFirstByteTimeoutMs: 500,
  supplierIdleTimeoutMs: 500,
  supplierTotalTimeoutMs: 1_000,
};
/** Tunnels are loaded with the first of them. */
const patient = { ...times, supplierConnectTimeoutMs: 10_000, supplierTotalTimeoutMs: 20_000 };
const PUBLIC = '93.184.215.14';
const rounds = 20;

/** The proxy resolves names by itself (docs/egress.md), and this row of the proof says so. */
async function tellWhatIsTheProxys(findings: Findings, way: WayOut): Promise<void> {
  const address = 'https://split-horizon.example';
  way.known('http://split-horizon.example:443');
  const before = way.used;
  const guard = new AddressGuard([], () => Promise.resolve([PUBLIC]));
  await connect(guard, address, way, patient);
  findings.add(
    'a name that is public here is handed to the proxy, whatever it stands for there: as documented',
    way.used === before + 1,
    `${way.used - before} of 1`,
  );
}

/** A name that stands for a public address when it is looked at and for this machine when it is connected to. */
export async function proveRebinding(findings: Findings, canary: Canary, way: WayOut): Promise<void> {
  const port = canary.port;
  const host = 'rebind.example';
  for (const [what, answers] of [
    ['public at the check, loopback at the connection', [[PUBLIC], ['127.0.0.1']]],
    ['loopback hidden among public ones', [[PUBLIC, '127.0.0.1', '8.8.8.8']]],
    ['loopback as IPv6, mapped', [[PUBLIC], ['::ffff:127.0.0.1']]],
    ['the metadata address', [[PUBLIC], ['169.254.169.254']]],
  ] as const) {
    let [look, refused] = [0, 0];
    for (let round = 0; round < rounds; round += 1) {
      const before = look;
      const guard = new AddressGuard(
        // The port alone is allowed, at the public address: what is left to the guard is the address.
        [{ host, port, address: PUBLIC, prefix: 32, family: 'ipv4' }],
        () => Promise.resolve(answers[Math.min(look++ - before, answers.length - 1)] ?? []),
      );
      const address = `${way.means.supplier === 'plain' ? 'http' : 'https'}://${host}:${port}`;
      await guard.checkReachable(address);
      if ((await connect(guard, address, way)) === 'ADDRESS_REFUSED') refused += 1;
    }
    findings.add(
      `a rebound name, ${what}: refused at the connection`,
      refused === rounds,
      `${refused} of ${rounds}`,
    );
  }
  if (way.means.proxy !== 'none') await tellWhatIsTheProxys(findings, way);
}

async function connect(guard: AddressGuard, address: string, way: WayOut, bounds = times): Promise<string> {
  const pools = way.transport(bounds, guard);
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
