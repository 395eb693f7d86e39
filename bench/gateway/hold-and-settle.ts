import 'reflect-metadata';
import { hotPath } from '../money/engine';

/** Runs on the measured core like a gateway; `measure-money.ts` starts it and parses its output. */
async function main(folder: string): Promise<void> {
  const [batched] = await hotPath(folder);
  process.stdout.write(String(batched?.value));
}

void main(process.argv[2] ?? '');
