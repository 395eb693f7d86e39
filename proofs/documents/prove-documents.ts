import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Findings, runProof } from '../../test/system/findings';
import { endWithThisProcess } from '../../test/system/program';
import { commandsOf } from './commands';
import { notRun } from './not-run';
import { Stage } from './stage';
import { type Step, steps } from './steps';

const project = join(__dirname, '..', '..', '..');

/**
 * The proof types every command of the documents as it stands there. Its folder is like a fresh checkout,
 * beside a service that `npm start` brought up with its own database.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:documents');
  endWithThisProcess();
  const places = new Map(commandsOf(project).map(({ text, file, line }) => [text, `${file}:${line}`]));
  const stage = new Stage();
  try {
    for (const step of steps) {
      const what = `${places.get(step.command) ?? 'no document'} ${firstLine(step.command)}`;
      findings.add(what, ...(await faultsOf(stage, step).then(told, toldOfError)));
    }
  } finally {
    await stage.end();
  }
  const alone = [...places.keys()].filter((text) => notRun.some(({ commands }) => commands.test(text)));
  const why = 'proofs/documents/not-run.ts has the reason of each';
  findings.leaveOut(`${alone.length} commands`, why, alone.length);
  findings.end();
}

/** Lists how the command differs from what its document says. */
async function faultsOf(stage: Stage, step: Step): Promise<string[]> {
  await step.before?.(stage);
  const pattern = step.says ?? /^/;
  if (step.stays === true) {
    await step.keeps?.(stage, await stage.start(step.command, pattern));
    return [];
  }
  const { code, text, output, late } = await stage.run(step.command, step.isInProject);
  const faults: string[] = [];
  const said = pattern.exec(step.isInProject === true ? text : output);
  if (said === null) faults.push(`it did not say ${String(pattern)}`);
  else await step.keeps?.(stage, said);
  const wanted = step.code ?? 0;
  // A missing .env file is usual, so no command mentions it.
  if (text.includes('.env not found')) faults.push('it speaks of .env');
  if (late) faults.push('it did not end');
  if (code !== wanted) faults.push(`it ended with ${code} instead of ${wanted}`);
  if (step.status !== undefined && !output.includes(`\nstatus ${step.status}\n`))
    faults.push(`the status is not ${step.status}`);
  if (step.writes !== undefined) {
    const [name, content] = step.writes;
    if (!content.test(readFileSync(stage.path(name), 'latin1')))
      faults.push(`${name} has not ${String(content)}`);
  }
  return faults.length === 0 ? [] : [...faults, text.slice(-1_500)];
}

const told = (faults: readonly string[]): [boolean, string] => [faults.length === 0, faults.join('; ')];
const toldOfError = (error: unknown): [boolean, string] => [
  false,
  error instanceof Error ? error.message : String(error),
];
const firstLine = (command: string): string => command.split('\n')[0] ?? '';

runProof(main);
