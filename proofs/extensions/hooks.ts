import type { Findings } from '../../test/system/findings';
import { FAULTY, type Came, type Testbed } from './testbed';

type Hook = 'policy' | 'fee' | 'visit' | 'request' | 'candidates' | 'settled' | 'answer';
type Faults = Readonly<Record<Hook, Readonly<Record<string, unknown>>>>;

// eslint-disable-next-line @typescript-eslint/no-require-imports
const { faults } = require(FAULTY) as { readonly faults: Faults };

/** How each request or visit has to end, and who is named. */
interface Trial {
  readonly what: string;
  readonly culprit: string;
  readonly isRefused: boolean;
  /** Where no answer can name it, its count does. */
  readonly isCounted: boolean;
  ask(testbed: Testbed): Promise<Came>;
}

async function wrongIn(testbed: Testbed, trial: Trial): Promise<string | null> {
  const before = trial.isCounted ? await testbed.failuresOf(trial.culprit) : 0;
  const { status, text } = await trial.ask(testbed);
  const isRight = trial.isRefused ? status >= 400 : status === 200;
  if (!isRight) return `it came to ${status}: ${text.slice(0, 300)}`;
  if (trial.isRefused && !trial.isCounted && !text.includes(trial.culprit))
    return `nobody is named: ${text.slice(0, 300)}`;
  const ill = await testbed.illness();
  if (ill !== null) return ill;
  return !trial.isCounted || (await testbed.failuresOf(trial.culprit)) > before
    ? null
    : 'its failure is not counted';
}

async function tryAll(
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

const closed = (hook: 'policy' | 'fee'): Trial[] =>
  Object.keys(faults[hook]).map((fault) => ({
    what: fault,
    culprit: `faulty/${hook}`,
    isRefused: true,
    isCounted: false,
    ask: (testbed) => testbed.chat([`${hook}.${fault}`]),
  }));

/** What cannot be judged, or has no price, does not go on. */
export async function proveRequests(findings: Findings, testbed: Testbed): Promise<void> {
  await tryAll(findings, testbed, 'policies of models', closed('policy'));
  await tryAll(findings, testbed, 'fees', closed('fee'));
}

export async function proveVisits(findings: Findings, testbed: Testbed): Promise<void> {
  const cookie = await testbed.ownerCookie();
  const trials = Object.keys(faults.visit).map((path) => ({
    what: path,
    culprit: 'faulty/policy',
    isRefused: true,
    isCounted: false,
    ask: async ({ node: { url } }: Testbed): Promise<Came> => {
      const answer = await fetch(url + path, {
        redirect: 'manual',
        headers: { cookie, accept: 'application/json' },
      });
      return { status: answer.status, text: await answer.text(), cost: null };
    },
  }));
  await tryAll(findings, testbed, 'policies of visits', trials);
}
