import type { Answer } from './house';
import { type Check, type Kit, skippedUnless } from './kit';

/** It is answered, or refused in a way that says who is at fault. */
function mustBe(answer: Answer, expected: 'answered' | 'refused', culprit: string, what: string): void {
  const { status, text } = answer;
  if (expected === 'answered' && status !== 200) throw new Error(`${what}: answered ${status}: ${text}`);
  if (expected === 'refused' && (status < 400 || !text.includes(culprit)))
    throw new Error(`${what}: ${status}, which does not refuse in the name of ${culprit}: ${text}`);
}

/** The positions of the gates that have a hook. */
const gatesWith = (kit: Kit, hook: string): readonly number[] =>
  kit.facts().gates.flatMap(({ hooks }, position) => (hooks.includes(hook) ? [position] : []));

const policies = ['open', 'closed'] as const;
const faults = ['throws', 'rejects', 'hangs', 'rubbish'] as const;

const hookCheck = (hook: 'request' | 'candidates'): Check => ({
  topic: 'gates',
  name: `${hook}: one that throws, rejects, hangs or answers rubbish is survived under both policies`,
  skip: (kit) => skippedUnless(gatesWith(kit, hook), `no gate has ${hook}()`),
  async run(kit) {
    const house = await kit.house();
    for (const place of gatesWith(kit, hook))
      for (const policy of policies)
        for (const fault of faults) {
          const twin = `kit-${place}-${policy}-${hook}`;
          const answer = await house.chat(kit.prompt, [`kit:${twin}:${fault}`]);
          mustBe(answer, policy === 'open' ? 'answered' : 'refused', twin, `${twin} ${fault}`);
        }
    await house.serves(kit.prompt);
  },
});

const settledCheck: Check = {
  topic: 'gates',
  name: 'settled: one that throws, rejects or hangs changes no answer',
  skip: (kit) => skippedUnless(gatesWith(kit, 'settled'), 'no gate has settled()'),
  async run(kit) {
    const house = await kit.house();
    for (const place of gatesWith(kit, 'settled'))
      for (const fault of ['throws', 'rejects', 'hangs']) {
        const tags = policies.map((policy) => `kit:kit-${place}-${policy}-settled:${fault}`);
        mustBe(await house.chat(kit.prompt, tags), 'answered', '', `settled ${fault}`);
      }
    await house.serves(kit.prompt);
  },
};

const answerCheck: Check = {
  topic: 'masks',
  name: 'one that throws or finds what is not there is survived under both policies',
  skip: (kit) => skippedUnless(gatesWith(kit, 'answer'), 'no gate has an answer'),
  async run(kit) {
    const house = await kit.house();
    for (const place of gatesWith(kit, 'answer'))
      for (const policy of policies)
        for (const fault of ['throws', 'rubbish']) {
          const twin = `kit-${place}-${policy}-answer-${fault}`;
          const answer = await house.chat(kit.prompt, [`kit:${twin}:on`]);
          mustBe(answer, policy === 'open' ? 'answered' : 'refused', twin, twin);
        }
    await house.serves(kit.prompt);
  },
};

/** What cannot be judged, or has no price, does not go on. */
const closedCheck = (topic: string, what: string, partsOf: (kit: Kit) => readonly string[]): Check => ({
  topic,
  name: `${what} that throws or answers rubbish refuses the request by its name`,
  skip: (kit) => skippedUnless(partsOf(kit), `it has no ${topic} for requests`),
  async run(kit) {
    const house = await kit.house();
    for (const name of partsOf(kit))
      for (const fault of ['throws', 'rubbish']) {
        const answer = await house.chat(kit.prompt, [`kit:${name}:${fault}`]);
        mustBe(answer, 'refused', `${kit.definition.id}/${name}`, `${name} ${fault}`);
      }
    await house.serves(kit.prompt);
  },
});

export const failureChecks: readonly Check[] = [
  hookCheck('request'),
  hookCheck('candidates'),
  settledCheck,
  answerCheck,
  closedCheck('policies', 'a policy', (kit) => kit.facts().policies),
  closedCheck('fees', 'a fee', (kit) => kit.facts().fees),
];
