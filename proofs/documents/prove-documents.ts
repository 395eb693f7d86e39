import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Findings, runProof } from '../../test/system/findings';
import { stopProgramsOnInterrupt } from '../../test/system/program';
import { commandsOf } from './commands';
import { skippedCommands } from './not-run';
import { Stage } from './stage';
import { type DocumentedStep, steps } from './steps';

const project = join(__dirname, '..', '..', '..');

/**
 * Types every documented command exactly as written, in a folder like a fresh checkout, next to a service started by
 * `npm start`.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:documents');
  stopProgramsOnInterrupt();
  const locations = new Map(commandsOf(project).map(({ text, file, line }) => [text, `${file}:${line}`]));
  const stage = new Stage();
  try {
    for (const step of steps) {
      const title = `${locations.get(step.command) ?? 'no document'} ${firstLine(step.command)}`;
      findings.add(title, ...(await faultsOf(stage, step).then(outcomeOf, outcomeOfError)));
    }
  } finally {
    await stage.end();
  }
  const skipped = [...locations.keys()].filter((text) =>
    skippedCommands.some(({ commands }) => commands.test(text)),
  );
  const reason = 'proofs/documents/not-run.ts has the reason of each';
  findings.addSkipped(`${skipped.length} commands`, reason, skipped.length);
  findings.end();
}

async function faultsOf(stage: Stage, step: DocumentedStep): Promise<string[]> {
  await step.before?.(stage);
  const pattern = step.says ?? /^/;
  if (step.isLongRunning === true) {
    await step.capture?.(stage, await stage.start(step.command, pattern));
    return [];
  }
  const { code, text, output, late } = await stage.run(step.command, step.isInProject);
  const faults: string[] = [];
  const match = pattern.exec(step.isInProject === true ? text : output);
  if (match === null) faults.push(`it did not say ${String(pattern)}`);
  else await step.capture?.(stage, match);
  const expectedCode = step.code ?? 0;
  // A missing .env file is normal, so no command mentions it.
  if (text.includes('.env not found')) faults.push('it speaks of .env');
  if (late) faults.push('it did not end');
  if (code !== expectedCode) faults.push(`it ended with ${code} instead of ${expectedCode}`);
  if (step.status !== undefined && !output.includes(`\nstatus ${step.status}\n`))
    faults.push(`the status is not ${step.status}`);
  if (step.writes !== undefined) {
    const [name, content] = step.writes;
    if (!content.test(readFileSync(stage.path(name), 'latin1')))
      faults.push(`${name} has not ${String(content)}`);
  }
  return faults.length === 0 ? [] : [...faults, text.slice(-1_500)];
}

const outcomeOf = (faults: readonly string[]): [boolean, string] => [faults.length === 0, faults.join('; ')];
const outcomeOfError = (error: unknown): [boolean, string] => [
  false,
  error instanceof Error ? error.message : String(error),
];
const firstLine = (command: string): string => command.split('\n')[0] ?? '';

runProof(main);
