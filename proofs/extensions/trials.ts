import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import type { Came, Testbed } from './testbed';

/** The host counts and logs a hanging hook at its deadline, after the answer has gone out. */
const NAMED_DEADLINE_MS = 5_000;

/** How each request or visit has to end, and who is named. */
export interface Trial {
  readonly what: string;
  readonly culprit: string;
  readonly isRefused: boolean;
  /** Where no answer can name it, its count or a line of the log does, where need be one that the trial added. */
  readonly naming: 'answer' | 'count' | 'log' | 'new line';
  /** So long the trial waits for the count or the line. */
  readonly withinMs?: number;
  ask(testbed: Testbed): Promise<Came>;
}

async function wrongIn(testbed: Testbed, trial: Trial): Promise<string | null> {
  const { culprit, isRefused, naming, withinMs = NAMED_DEADLINE_MS } = trial;
  const { program } = testbed.node;
  const begin = naming === 'new line' ? program.text.length : 0;
  const before = naming === 'count' ? await testbed.failuresOf(culprit) : 0;
  const { status, text } = await trial.ask(testbed);
  const isRight = isRefused ? status >= 400 : status === 200;
  if (!isRight) return `it came to ${status}: ${text.slice(0, 300)}`;
  if (isRefused && naming === 'answer' && !text.includes(culprit))
    return `nobody is named: ${text.slice(0, 300)}`;
  const ill = await testbed.illness();
  if (ill !== null) return ill;
  if (naming === 'answer') return null;
  const isNamed = async (): Promise<boolean> =>
    naming === 'count'
      ? (await testbed.failuresOf(culprit)) > before
      : program.text.slice(begin).includes(culprit);
  for (let waited = 0; waited < withinMs; waited += 50) {
    if (await isNamed()) return null;
    await delay(50);
  }
  return naming === 'count' ? 'its failure is not counted' : `no line of the log has ${culprit}`;
}

export async function tryAll(
  findings: Findings,
  testbed: Testbed,
  hook: string,
  trials: readonly Trial[],
): Promise<void> {
  const wrong: string[] = [];
  for (const trial of trials) {
    const found = await wrongIn(testbed, trial).catch((error: unknown) => String(error));
    if (found !== null) wrong.push(`${trial.what}: ${found}`);
  }
  findings.many(hook, trials.length, wrong.length, wrong.length === 0 ? undefined : wrong.join('\n'));
}
