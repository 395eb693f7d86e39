import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import type { RequestOutcome, ExtensionTestbed } from './testbed';

/** The host counts and logs a hanging hook at its deadline, after the response has been sent. */
const REPORT_DEADLINE_MS = 5_000;

/** The expected end of each request or visit, and the extension that is named. */
export interface FaultTrial {
  readonly what: string;
  readonly culprit: string;
  readonly isRefused: boolean;
  /** Source of the name if the response cannot carry it: its counter or a log line, if necessary a new one. */
  readonly naming: 'answer' | 'count' | 'log' | 'new line';
  /** Maximum wait for the counter or the log line. */
  readonly withinMs?: number;
  ask(testbed: ExtensionTestbed): Promise<RequestOutcome>;
}

async function findFailure(testbed: ExtensionTestbed, trial: FaultTrial): Promise<string | null> {
  const { culprit, isRefused, naming, withinMs = REPORT_DEADLINE_MS } = trial;
  const { program } = testbed.node;
  const logOffset = naming === 'new line' ? program.text.length : 0;
  const before = naming === 'count' ? await testbed.failuresOf(culprit) : 0;
  const { status, text } = await trial.ask(testbed);
  const isRight = isRefused ? status >= 400 : status === 200;
  if (!isRight) return `it came to ${status}: ${text.slice(0, 300)}`;
  if (isRefused && naming === 'answer' && !text.includes(culprit))
    return `nobody is named: ${text.slice(0, 300)}`;
  const problem = await testbed.findProblem();
  if (problem !== null) return problem;
  if (naming === 'answer') return null;
  const isNamed = async (): Promise<boolean> =>
    naming === 'count'
      ? (await testbed.failuresOf(culprit)) > before
      : program.text.slice(logOffset).includes(culprit);
  for (let waited = 0; waited < withinMs; waited += 50) {
    if (await isNamed()) return null;
    await delay(50);
  }
  return naming === 'count' ? 'its failure is not counted' : `no line of the log has ${culprit}`;
}

export async function runTrials(
  findings: Findings,
  testbed: ExtensionTestbed,
  hook: string,
  trials: readonly FaultTrial[],
): Promise<void> {
  const failures: string[] = [];
  for (const trial of trials) {
    const failure = await findFailure(testbed, trial).catch((error: unknown) => String(error));
    if (failure !== null) failures.push(`${trial.what}: ${failure}`);
  }
  findings.addCases(
    hook,
    trials.length,
    failures.length,
    failures.length === 0 ? undefined : failures.join('\n'),
  );
}
