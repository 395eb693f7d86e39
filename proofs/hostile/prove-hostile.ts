import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { Findings, partsFromArguments, runProof } from '../../test/system/findings';
import { proveAddresses } from './addresses/addresses';
import { proveBrokenAnswers } from './answers/broken-answers';
import { proveSecondAnswers } from './answers/second-answers';
import { type BodyOptions, proveBodies } from './bodies/bodies';
import { proveCanaries } from './canaries/canaries';
import { proveDrips } from './drips/drips';
import { proveEchoes } from './echoes/echoes';
import { type FuzzOptions, proveFuzz } from './fuzz/fuzz';
import { printHeading } from './offenders';
import { proveRecordings } from './recordings/recordings';
import { proveSmallRequests } from './small-requests/small-requests';
import { type EgressRouteName, egressRouteNames, EgressTestRoute } from './ways/egress-test-route';

type HostileOptions = FuzzOptions & BodyOptions;

/** Arguments select parts. */
const parts: Readonly<Record<string, (findings: Findings, options: HostileOptions) => Promise<void>>> = {
  fuzz: proveFuzz,
  bodies: proveBodies,
  canaries: proveCanaries,
  drips: proveDrips,
  'small-requests': proveSmallRequests,
  recordings: proveRecordings,
};
/** Parts about suppliers, which run once per route to them. */
const partsPerRoute: Readonly<
  Record<string, (findings: Findings, egressRoute: EgressTestRoute, options: HostileOptions) => Promise<void>>
> = {
  addresses: proveAddresses,
  echoes: proveEchoes,
  answers: async (findings, egressRoute, options) => {
    await proveBrokenAnswers(findings, egressRoute);
    await proveSecondAnswers(findings, egressRoute, options);
  },
};

function selectedRoutes(names: readonly string[] = egressRouteNames): readonly EgressRouteName[] {
  const unknown = names.filter((name) => !egressRouteNames.some((known) => known === name));
  if (unknown.length > 0)
    throw new Error(`--by takes ${egressRouteNames.join(', ')}, and not ${unknown.join(', ')}`);
  return egressRouteNames.filter((name) => names.includes(name));
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      requests: { type: 'string', default: '10000' },
      bodies: { type: 'string', default: '500000' },
      million: { type: 'boolean', default: false },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string' },
      by: { type: 'string', multiple: true },
    },
  });
  Logger.overrideLogger(['error']);
  const options: FuzzOptions & BodyOptions = {
    bodies: Number(values.bodies),
    requests: values.million ? 1_000_000 : Number(values.requests),
    seed: Number(values.seed),
    only: values.only === undefined ? null : Number(values.only),
  };
  const findings = new Findings('prove:hostile');
  const selectedParts = partsFromArguments(
    [...Object.keys(parts), ...Object.keys(partsPerRoute)],
    positionals,
  );
  for (const [name, prove] of Object.entries(parts))
    if (selectedParts.includes(name)) await prove(findings, options);
  const proofs = Object.entries(partsPerRoute).filter(([name]) => selectedParts.includes(name));
  for (const name of proofs.length === 0 ? [] : selectedRoutes(values.by)) {
    const egressRoute = await EgressTestRoute.open(name);
    printHeading(`by ${name}: ${egressRoute.means.what}`);
    try {
      for (const [, prove] of proofs) await prove(findings, egressRoute, options);
      const { what } = egressRoute.means;
      if (name !== 'direct')
        findings.add(`they did go ${what}`, egressRoute.useCount > 0, `${egressRoute.useCount} times`);
    } finally {
      egressRoute.close();
    }
  }
  findings.end();
}

runProof(main);
