import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { Findings, partsGiven, runProof } from '../../test/system/findings';
import { proveAddresses } from './addresses/addresses';
import { proveSecondAnswers } from './answers/second-answers';
import { type BodyOptions, proveBodies } from './bodies/bodies';
import { proveCanaries } from './canaries/canaries';
import { proveDrips } from './drips/drips';
import { proveEchoes } from './echoes/echoes';
import { type FuzzOptions, proveFuzz } from './fuzz/fuzz';

/** With arguments, only the parts named. */
const parts: Readonly<
  Record<string, (findings: Findings, options: FuzzOptions & BodyOptions) => Promise<void>>
> = {
  fuzz: proveFuzz,
  bodies: proveBodies,
  addresses: proveAddresses,
  canaries: proveCanaries,
  echoes: proveEchoes,
  drips: proveDrips,
  answers: proveSecondAnswers,
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      requests: { type: 'string', default: '10000' },
      bodies: { type: 'string', default: '500000' },
      million: { type: 'boolean', default: false },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string' },
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
  const wanted = partsGiven(Object.keys(parts), positionals);
  for (const [name, prove] of Object.entries(parts))
    if (wanted.includes(name)) await prove(findings, options);
  findings.end();
}

runProof(main);
