import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { Findings, partsGiven, runProof } from '../../test/system/findings';
import { proveAddresses } from './addresses/addresses';
import { proveBrokenAnswers } from './answers/broken-answers';
import { proveSecondAnswers } from './answers/second-answers';
import { type BodyOptions, proveBodies } from './bodies/bodies';
import { proveCanaries } from './canaries/canaries';
import { proveDrips } from './drips/drips';
import { proveEchoes } from './echoes/echoes';
import { type FuzzOptions, proveFuzz } from './fuzz/fuzz';
import { heading } from './none';
import { proveRecordings } from './recordings/recordings';
import { proveSmallRequests } from './small-requests/small-requests';
import { type WayName, wayNames, WayOut } from './ways/way';

type Options = FuzzOptions & BodyOptions;

/** With arguments, only the parts named. */
const parts: Readonly<Record<string, (findings: Findings, options: Options) => Promise<void>>> = {
  fuzz: proveFuzz,
  bodies: proveBodies,
  canaries: proveCanaries,
  drips: proveDrips,
  'small-requests': proveSmallRequests,
  recordings: proveRecordings,
};
/** These are about suppliers, and are tried by every way to them. */
const byWay: Readonly<Record<string, (findings: Findings, way: WayOut, options: Options) => Promise<void>>> =
  {
    addresses: proveAddresses,
    echoes: proveEchoes,
    answers: async (findings, way, options) => {
      await proveBrokenAnswers(findings, way);
      await proveSecondAnswers(findings, way, options);
    },
  };

function waysGiven(given: readonly string[] = wayNames): readonly WayName[] {
  const unknown = given.filter((name) => !wayNames.some((known) => known === name));
  if (unknown.length > 0) throw new Error(`--by takes ${wayNames.join(', ')}, and not ${unknown.join(', ')}`);
  return wayNames.filter((name) => given.includes(name));
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
  const wanted = partsGiven([...Object.keys(parts), ...Object.keys(byWay)], positionals);
  for (const [name, prove] of Object.entries(parts))
    if (wanted.includes(name)) await prove(findings, options);
  const proofs = Object.entries(byWay).filter(([name]) => wanted.includes(name));
  for (const name of proofs.length === 0 ? [] : waysGiven(values.by)) {
    const way = await WayOut.open(name);
    heading(`by ${name}: ${way.means.what}`);
    try {
      for (const [, prove] of proofs) await prove(findings, way, options);
      const { what } = way.means;
      if (name !== 'direct') findings.add(`they did go ${what}`, way.used > 0, `${way.used} times`);
    } finally {
      way.close();
    }
  }
  findings.end();
}

runProof(main);
