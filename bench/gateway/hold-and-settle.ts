import 'reflect-metadata';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setEngineAtWork } from '../../src/boot/engine-at-work';
import { hotPath } from '../money/engine';
import { project } from './stage';

const engine = createRequire(__filename)(join(project, 'scripts', 'bundle', 'engine.cjs')) as {
  setFlags: () => void;
};

/** Runs on the measured core, as a gateway would; `measure-money.ts` starts it and reads what it prints. */
async function main(folder: string): Promise<void> {
  engine.setFlags();
  setEngineAtWork();
  const [batched] = await hotPath(folder);
  process.stdout.write(String(batched?.value));
}

void main(process.argv[2] ?? '');
