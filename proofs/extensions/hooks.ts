import type { Findings } from '../../test/system/findings';
import { FAULTY, type RequestOutcome, type ExtensionTestbed, exportsOf } from './testbed';
import { type FaultTrial, runTrials } from './trials';

type Hook = 'policy' | 'fee' | 'visit' | 'request' | 'candidates' | 'settled' | 'answer';
type HookFaults = Readonly<Record<Hook, Readonly<Record<string, unknown>>>>;

const { faults } = exportsOf(FAULTY) as { readonly faults: HookFaults };

const failClosedTrials = (hook: 'policy' | 'fee'): FaultTrial[] =>
  Object.keys(faults[hook]).map((fault) => ({
    what: fault,
    culprit: `faulty/${hook}`,
    isRefused: true,
    naming: 'answer',
    ask: (testbed) => testbed.chat([`${hook}.${fault}`]),
  }));

/** A request without a decision or a price is rejected. */
export async function proveRequests(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  await runTrials(findings, testbed, 'policies of models', failClosedTrials('policy'));
  await runTrials(findings, testbed, 'fees', failClosedTrials('fee'));
}

export async function proveVisits(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  const cookie = await testbed.ownerCookie();
  const trials = Object.keys(faults.visit).map((path): FaultTrial => ({
    what: path,
    culprit: 'faulty/policy',
    isRefused: true,
    naming: 'answer',
    ask: async ({ node: { url } }: ExtensionTestbed): Promise<RequestOutcome> => {
      const answer = await fetch(url + path, {
        redirect: 'manual',
        headers: { cookie, accept: 'application/json' },
      });
      return { status: answer.status, text: await answer.text(), cost: null };
    },
  }));
  await runTrials(findings, testbed, 'policies of visits', trials);
}

const stages = ['request', 'candidates'] as const;
const errorPolicies = ['open', 'closed'] as const;

/** An open gate's failure is counted; a closed gate's failure rejects the request and names the gate. */
const gateTrials = (stage: (typeof stages)[number]): FaultTrial[] =>
  errorPolicies.flatMap((onError) =>
    Object.keys(faults[stage]).map((fault): FaultTrial => ({
      what: `${onError}: ${fault}`,
      culprit: `faulty/${stage}-${onError}`,
      isRefused: onError === 'closed',
      naming: onError === 'open' ? 'count' : 'answer',
      ask: (testbed: ExtensionTestbed) => testbed.chat([`${stage}-${onError}.${fault}`]),
    })),
  );

/** Settled requests have already been answered: whatever the gate's policy, only its counter shows the failure. */
const settledTrials: readonly FaultTrial[] = errorPolicies.flatMap((onError) =>
  Object.keys(faults.settled).map((fault): FaultTrial => ({
    what: `${onError}: ${fault}`,
    culprit: `faulty/settled-${onError}`,
    isRefused: false,
    naming: 'count',
    ask: (testbed: ExtensionTestbed) => testbed.chat([`settled-${onError}.${fault}`]),
  })),
);

export async function proveGates(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  for (const stage of stages) await runTrials(findings, testbed, `gates at ${stage}`, gateTrials(stage));
  await runTrials(findings, testbed, 'gates at settled', settledTrials);
}

/** A stream that has started cannot be rejected: it ends with an error and reveals nothing unmasked. */
const maskTrials = (stream: boolean): FaultTrial[] =>
  errorPolicies.flatMap((onError) =>
    Object.keys(faults.answer).map((fault, at): FaultTrial => ({
      what: `${onError}: ${fault}`,
      culprit: `faulty/answer-${onError}-${at}`,
      isRefused: onError === 'closed',
      naming: onError === 'open' ? 'count' : 'answer',
      ask: async (testbed: ExtensionTestbed): Promise<RequestOutcome> => {
        const outcome = await testbed.chat([`answer-${onError}.${fault}`], stream);
        const isCut = stream && outcome.status === 200 && outcome.text.includes('"error"');
        return isCut ? { ...outcome, status: 502 } : outcome;
      },
    })),
  );

export async function proveMasks(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  await runTrials(findings, testbed, 'masks of whole answers', maskTrials(false));
  await runTrials(findings, testbed, 'masks of streams', maskTrials(true));
}
