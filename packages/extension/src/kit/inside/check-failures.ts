import type { ServiceResponse } from './service-process';
import { type KitCheck, type Kit, skippedUnless } from './kit';

/** Requires that a request is served, or refused by naming the culprit. */
function mustRespond(
  response: ServiceResponse,
  expected: 'answered' | 'refused',
  culprit: string,
  what: string,
): void {
  const { status, text } = response;
  if (expected === 'answered' && status !== 200) throw new Error(`${what}: answered ${status}: ${text}`);
  if (expected === 'refused' && (status < 400 || !text.includes(culprit)))
    throw new Error(`${what}: ${status}, which does not refuse in the name of ${culprit}: ${text}`);
}

const gatesWith = (kit: Kit, hook: string): readonly number[] =>
  kit.contributions().gates.flatMap(({ hooks }, position) => (hooks.includes(hook) ? [position] : []));

const policies = ['open', 'closed'] as const;
const faults = ['throws', 'rejects', 'hangs', 'rubbish'] as const;

const hookCheck = (hook: 'request' | 'candidates'): KitCheck => ({
  topic: 'gates',
  name: `${hook}: one that throws, rejects, hangs or answers rubbish is survived under both policies`,
  skip: (kit) => skippedUnless(gatesWith(kit, hook), `no gate has ${hook}()`),
  async run(kit) {
    const service = await kit.service();
    for (const position of gatesWith(kit, hook))
      for (const policy of policies)
        for (const fault of faults) {
          const twin = `kit-${position}-${policy}-${hook}`;
          const response = await service.chat(kit.prompt, [`kit:${twin}:${fault}`]);
          mustRespond(response, policy === 'open' ? 'answered' : 'refused', twin, `${twin} ${fault}`);
        }
    await service.mustServe(kit.prompt);
  },
});

const settledCheck: KitCheck = {
  topic: 'gates',
  name: 'settled: one that throws, rejects or hangs changes no answer',
  skip: (kit) => skippedUnless(gatesWith(kit, 'settled'), 'no gate has settled()'),
  async run(kit) {
    const service = await kit.service();
    for (const position of gatesWith(kit, 'settled'))
      for (const fault of ['throws', 'rejects', 'hangs']) {
        const tags = policies.map((policy) => `kit:kit-${position}-${policy}-settled:${fault}`);
        mustRespond(await service.chat(kit.prompt, tags), 'answered', '', `settled ${fault}`);
      }
    await service.mustServe(kit.prompt);
  },
};

const answerCheck: KitCheck = {
  topic: 'masks',
  name: 'one that throws or finds what is not there is survived under both policies',
  skip: (kit) => skippedUnless(gatesWith(kit, 'answer'), 'no gate has an answer'),
  async run(kit) {
    const service = await kit.service();
    for (const position of gatesWith(kit, 'answer'))
      for (const policy of policies)
        for (const fault of ['throws', 'rubbish']) {
          const twin = `kit-${position}-${policy}-answer-${fault}`;
          const response = await service.chat(kit.prompt, [`kit:${twin}:on`]);
          mustRespond(response, policy === 'open' ? 'answered' : 'refused', twin, twin);
        }
    await service.mustServe(kit.prompt);
  },
};

/** Checks hooks without a failure policy: what cannot be judged or priced is refused. */
const closedCheck = (topic: string, what: string, partsOf: (kit: Kit) => readonly string[]): KitCheck => ({
  topic,
  name: `${what} that throws or answers rubbish refuses the request by its name`,
  skip: (kit) => skippedUnless(partsOf(kit), `it has no ${topic} for requests`),
  async run(kit) {
    const service = await kit.service();
    for (const name of partsOf(kit))
      for (const fault of ['throws', 'rubbish']) {
        const response = await service.chat(kit.prompt, [`kit:${name}:${fault}`]);
        mustRespond(response, 'refused', `${kit.definition.id}/${name}`, `${name} ${fault}`);
      }
    await service.mustServe(kit.prompt);
  },
});

export const failureChecks: readonly KitCheck[] = [
  hookCheck('request'),
  hookCheck('candidates'),
  settledCheck,
  answerCheck,
  closedCheck('policies', 'a policy', (kit) => kit.contributions().policies),
  closedCheck('fees', 'a fee', (kit) => kit.contributions().fees),
];
