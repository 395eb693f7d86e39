import type { Findings } from '../../test/system/findings';
import { FAULTY, type Came, type Testbed, offeredBy } from './testbed';
import { type Trial, tryAll } from './trials';

type Hook = 'policy' | 'fee' | 'visit' | 'request' | 'candidates' | 'settled' | 'answer';
type Faults = Readonly<Record<Hook, Readonly<Record<string, unknown>>>>;

const { faults } = offeredBy(FAULTY) as { readonly faults: Faults };

const closed = (hook: 'policy' | 'fee'): Trial[] =>
  Object.keys(faults[hook]).map((fault) => ({
    what: fault,
    culprit: `faulty/${hook}`,
    isRefused: true,
    naming: 'answer',
    ask: (testbed) => testbed.chat([`${hook}.${fault}`]),
  }));

/** What cannot be judged, or has no price, does not go on. */
export async function proveRequests(findings: Findings, testbed: Testbed): Promise<void> {
  await tryAll(findings, testbed, 'policies of models', closed('policy'));
  await tryAll(findings, testbed, 'fees', closed('fee'));
}

export async function proveVisits(findings: Findings, testbed: Testbed): Promise<void> {
  const cookie = await testbed.ownerCookie();
  const trials = Object.keys(faults.visit).map((path): Trial => ({
    what: path,
    culprit: 'faulty/policy',
    isRefused: true,
    naming: 'answer',
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
    Object.keys(faults[stage]).map((fault): Trial => ({
      what: `${onError}: ${fault}`,
      culprit: `faulty/${stage}-${onError}`,
      isRefused: onError === 'closed',
      naming: onError === 'open' ? 'count' : 'answer',
      ask: (testbed: Testbed) => testbed.chat([`${stage}-${onError}.${fault}`]),
    })),
  );

/** What was settled has gone out: whatever the gate's policy, only its count tells. */
const settledTrials: readonly Trial[] = errorPolicies.flatMap((onError) =>
  Object.keys(faults.settled).map((fault): Trial => ({
    what: `${onError}: ${fault}`,
    culprit: `faulty/settled-${onError}`,
    isRefused: false,
    naming: 'count',
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
    Object.keys(faults.answer).map((fault, at): Trial => ({
      what: `${onError}: ${fault}`,
      culprit: `faulty/answer-${onError}-${at}`,
      isRefused: onError === 'closed',
      naming: onError === 'open' ? 'count' : 'answer',
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
