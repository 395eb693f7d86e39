import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import { FAULTY, type Came, type Testbed } from './testbed';

type Hook = 'policy' | 'fee' | 'visit' | 'request' | 'candidates' | 'settled' | 'answer';
type Faults = Readonly<Record<Hook, Readonly<Record<string, unknown>>>>;

// eslint-disable-next-line @typescript-eslint/no-require-imports
const { faults } = require(FAULTY) as { readonly faults: Faults };

const COUNT_DEADLINE_MS = 5_000;

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
  if (!trial.isCounted) return null;
  // What hangs is counted at its deadline, after the answer has gone out.
  for (let waited = 0; waited < COUNT_DEADLINE_MS; waited += 50) {
    if ((await testbed.failuresOf(trial.culprit)) > before) return null;
    await delay(50);
  }
  return 'its failure is not counted';
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

const stages = ['request', 'candidates'] as const;
const errorPolicies = ['open', 'closed'] as const;

/** An open gate is counted, a closed one refuses in its name. */
const gateTrials = (stage: (typeof stages)[number]): Trial[] =>
  errorPolicies.flatMap((onError) =>
    Object.keys(faults[stage]).map((fault) => ({
      what: `${onError}: ${fault}`,
      culprit: `faulty/${stage}-${onError}`,
      isRefused: onError === 'closed',
      isCounted: onError === 'open',
      ask: (testbed: Testbed) => testbed.chat([`${stage}-${onError}.${fault}`]),
    })),
  );

/** What was settled has gone out: whatever the gate's policy, only its count tells. */
const settledTrials: readonly Trial[] = errorPolicies.flatMap((onError) =>
  Object.keys(faults.settled).map((fault) => ({
    what: `${onError}: ${fault}`,
    culprit: `faulty/settled-${onError}`,
    isRefused: false,
    isCounted: true,
    ask: (testbed: Testbed) => testbed.chat([`settled-${onError}.${fault}`]),
  })),
);

export async function proveGates(findings: Findings, testbed: Testbed): Promise<void> {
  for (const stage of stages) await tryAll(findings, testbed, `gates at ${stage}`, gateTrials(stage));
  await tryAll(findings, testbed, 'gates at settled', settledTrials);
}

/** A stream that has begun cannot be refused: it ends with an error, and shows nothing that was not masked. */
const maskTrials = (stream: boolean): Trial[] =>
  errorPolicies.flatMap((onError) =>
    Object.keys(faults.answer).map((fault, at) => ({
      what: `${onError}: ${fault}`,
      culprit: `faulty/answer-${onError}-${at}`,
      isRefused: onError === 'closed',
      isCounted: onError === 'open',
      ask: async (testbed: Testbed): Promise<Came> => {
        const came = await testbed.chat([`answer-${onError}.${fault}`], stream);
        const isCut = stream && came.status === 200 && came.text.includes('"error"');
        return isCut ? { ...came, status: 502 } : came;
      },
    })),
  );

export async function proveMasks(findings: Findings, testbed: Testbed): Promise<void> {
  await tryAll(findings, testbed, 'masks of whole answers', maskTrials(false));
  await tryAll(findings, testbed, 'masks of streams', maskTrials(true));
}
