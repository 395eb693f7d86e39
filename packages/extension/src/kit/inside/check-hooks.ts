import type { Fee, MaskedSpan, RequestVerdict, LaneVerdict } from '../../index';
import type { HookCall, HookOutcome } from './agent';
import { type KitCheck, type Kit, Skipped, skippedUnless } from './kit';
import { requestWith, roles, sampleLanes, sampleRecords, sampleRequests } from './sample-requests';

const CODE = /^[a-z][a-z0-9_]*$/;

/** Calls a hook with input that it must handle, and returns its result. */
async function callHook(kit: Kit, what: string, call: HookCall): Promise<unknown> {
  const outcome = await kit.call(call);
  if (outcome.kind === 'returned') return outcome.value;
  throw new Error(`${what} ${describeOutcome(outcome)}, called with ${summarise(call.values)}`);
}

const describeOutcome = ({ kind, error = '' }: HookOutcome): string =>
  kind === 'threw' ? `threw ${error}` : kind === 'late' ? 'did not end within 20 s' : 'returned';

const summarise = (value: unknown): string => JSON.stringify(value).slice(0, 300);
const equal = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const withHook = (kit: Kit, hook: string): readonly { readonly position: number; readonly name: string }[] =>
  kit
    .contributions()
    .gates.flatMap(({ name, hooks }, position) => (hooks.includes(hook) ? [{ position, name }] : []));

type GateVerdict = RequestVerdict | LaneVerdict;

/** Validation error of a verdict; null if it is valid. */
function verdictProblem(verdict: GateVerdict, texts: readonly { readonly text: string }[]): string | null {
  switch (verdict?.verdict) {
    case 'abstain':
      return null;
    case 'reject':
      return CODE.test(verdict.code) && typeof verdict.message === 'string'
        ? null
        : 'rejects without code or message';
    case 'rewrite':
      return verdict.texts.every(({ at, text }) => typeof text === 'string' && texts[at] !== undefined)
        ? null
        : 'rewrites a text that is not there';
    case 'restrict':
    case 'order':
      return verdict.lanes.every((id) => sampleLanes.some((lane) => lane.id === id))
        ? null
        : `answers ${verdict.verdict} with a lane that is not there`;
    default:
      return `answers ${summarise(verdict ?? null)}, which is no verdict`;
  }
}

const gateChecks: readonly KitCheck[] = [
  {
    topic: 'gates',
    name: 'each answers requests of every operation and odd texts with a verdict',
    skip: (kit) =>
      skippedUnless(
        [...withHook(kit, 'request'), ...withHook(kit, 'candidates')],
        'no gate looks at requests',
      ),
    async run(kit) {
      for (const hook of ['request', 'candidates'] as const)
        for (const { position, name } of withHook(kit, hook))
          for (const request of sampleRequests(kit.prompt)) {
            const values = hook === 'request' ? [request, '$signal'] : [request, sampleLanes, '$signal'];
            const verdict = await callHook(kit, `${name}.${hook}()`, {
              path: ['gates', position, hook],
              values,
            });
            const problem = verdictProblem(verdict as GateVerdict, request.texts);
            if (problem !== null) throw new Error(`${name}.${hook}() ${problem}, for ${request.operation}`);
          }
    },
  },
  {
    topic: 'gates',
    name: 'settled() takes every record',
    skip: (kit) => skippedUnless(withHook(kit, 'settled'), 'no gate has settled()'),
    async run(kit) {
      for (const { position, name } of withHook(kit, 'settled'))
        for (const record of sampleRecords)
          await callHook(kit, `${name}.settled()`, {
            path: ['gates', position, 'settled'],
            values: [record, '$signal'],
          });
    },
  },
  {
    topic: 'gates',
    name: 'the same text is rewritten the same way every time',
    skip: (kit) => skippedUnless(withHook(kit, 'request'), 'no gate has request()'),
    async run(kit) {
      for (const { position, name } of withHook(kit, 'request'))
        for (const text of [kit.prompt, ...kit.texts]) {
          const call = (): Promise<unknown> =>
            callHook(kit, `${name}.request()`, {
              path: ['gates', position, 'request'],
              values: [requestWith(text), '$signal'],
            });
          const first = (await call()) as RequestVerdict;
          const second = (await call()) as RequestVerdict;
          const isRewrite = [first, second].some(({ verdict }) => verdict === 'rewrite');
          if (isRewrite && !equal(first, second))
            throw new Error(`${name} answered ${summarise(first)}, and then ${summarise(second)}`);
        }
    },
  },
  {
    topic: 'gates',
    name: "nothing of one organisation's request appears in the verdict for another's",
    skip: (kit) => skippedUnless(withHook(kit, 'request'), 'no gate has request()'),
    async run(kit) {
      const secret = 'kit-secret-of-one-organisation';
      const ownKey = { id: 7, userId: 3, organisationId: 1, departmentId: null, projectId: null };
      const otherKey = { id: 8, userId: 5, organisationId: 2, departmentId: null, projectId: null };
      for (const { position, name } of withHook(kit, 'request')) {
        const call = (text: string, key: typeof ownKey): Promise<unknown> =>
          callHook(kit, `${name}.request()`, {
            path: ['gates', position, 'request'],
            values: [requestWith(text, { key }), '$signal'],
          });
        for (const text of [kit.prompt, ...kit.texts]) {
          await call(`${text} ${secret}`, ownKey);
          const verdict = await call(text, otherKey);
          if (JSON.stringify(verdict).includes(secret))
            throw new Error(`${name} answered another organisation ${summarise(verdict)}`);
        }
      }
    },
  },
];

/** Validation error of spans; null if they are valid. */
function spansProblem(spans: readonly MaskedSpan[], text: string): string | null {
  if (!Array.isArray(spans)) return 'does not return a list of spans';
  let end = 0;
  for (const span of spans as readonly MaskedSpan[]) {
    if (
      !(span.start >= end && span.end > span.start && span.end <= text.length) ||
      typeof span.text !== 'string'
    )
      return `returned ${summarise(span)}, which overlaps or lies outside of the text`;
    end = span.end;
  }
  return null;
}

const maskCheck: KitCheck = {
  topic: 'masks',
  name: 'the same text gives the same spans every time, in order and within the text',
  skip: (kit) => skippedUnless(withHook(kit, 'answer'), 'no gate has an answer'),
  async run(kit) {
    for (const { position, name } of withHook(kit, 'answer')) {
      const find = async (text: string): Promise<unknown> => {
        const spans = await callHook(kit, `${name}.answer.find()`, {
          path: ['gates', position, 'answer', 'find'],
          values: [text],
        });
        const problem = spansProblem(spans as readonly MaskedSpan[], text);
        if (problem !== null) throw new Error(`${name}.answer.find() ${problem}`);
        return spans;
      };
      for (const text of [...kit.texts, '', '\ud83d\u0000', 'x'.repeat(10_000)]) {
        const [first, second, third] = [await find(text), await find(text), await find(text)];
        if (!equal(first, second) || !equal(second, third))
          throw new Error(
            `${name} found ${summarise(first)} and then ${summarise([second, third])} in "${text}"`,
          );
      }
    }
  },
};

const policyCheck: KitCheck = {
  topic: 'policies',
  name: 'each answers every request and every visit with a reason or null',
  skip: (kit) =>
    skippedUnless(
      [...kit.contributions().policies, ...kit.contributions().visitPolicies],
      'it has no policies',
    ),
  async run(kit) {
    const mustAnswer = async (
      what: string,
      path: HookCall['path'],
      values: readonly unknown[],
    ): Promise<void> => {
      const reason = await callHook(kit, what, { path, values });
      if (reason !== null && typeof reason !== 'string')
        throw new Error(`${what} answered ${summarise(reason ?? 'nothing')}, and not a reason or null`);
    };
    const { policies, visitPolicies, policyNames } = kit.contributions();
    for (const [position, name] of policyNames.entries()) {
      if (policies.includes(name))
        for (const request of sampleRequests(kit.prompt))
          await mustAnswer(
            `${name}.forbidsModel()`,
            ['policies', position, 'forbidsModel'],
            [request, request.model],
          );
      if (!visitPolicies.includes(name)) continue;
      for (const role of roles)
        for (const method of ['GET', 'POST', 'DELETE']) {
          const organisationId = role.startsWith('platform') ? null : 1;
          const visit = { personId: 3, role, organisationId, method, path: '/dashboard/keys' };
          await mustAnswer(`${name}.forbidsVisit()`, ['policies', position, 'forbidsVisit'], [visit]);
        }
    }
  },
};

const feeCheck: KitCheck = {
  topic: 'fees',
  name: 'the same request gives the same fee, and no fee is negative',
  skip: (kit) => skippedUnless(kit.contributions().fees, 'it has no fees'),
  async run(kit) {
    for (const [position, name] of kit.contributions().fees.entries())
      for (const { operation, tags, key } of sampleRequests(kit.prompt)) {
        const request = { operation, model: 'kit-model', supplier: 'kit', region: 'local', tags, key };
        const feeOf = async (): Promise<Fee | null> =>
          (await callHook(kit, `${name}.fee()`, {
            path: ['priceComponents', position, 'fee'],
            values: [request],
          })) as Fee | null;
        const [first, second] = [await feeOf(), await feeOf()];
        if (!equal(first, second))
          throw new Error(`${name} answered ${summarise(first)}, and then ${summarise(second)}`);
        const parts = Object.values(first ?? {}).map(String);
        if (parts.some((part) => !/^\d+n?$/.test(part)))
          throw new Error(`${name} answered ${summarise(first)}, which is no fee`);
      }
  },
};

const jobCheck: KitCheck = {
  topic: 'jobs',
  name: 'each succeeds, succeeds again, and ends when its signal does',
  skip: (kit) => skippedUnless(kit.contributions().jobs, 'it has no jobs'),
  async run(kit) {
    for (const [position, name] of kit.contributions().jobs.entries()) {
      const path = ['jobs', position, 'run'];
      for (const time of ['first', 'second'])
        await callHook(kit, `the ${time} run of ${name}`, { path, values: ['$signal'] });
      // An error also ends the job, which is retried later.
      const { kind } = await kit.call({ path, values: ['$aborted'] });
      if (kind === 'late') throw new Error(`${name} did not end although its signal had`);
    }
  },
};

const PROGRAMMING_ERROR = /^(?:Type|Reference|Range|Syntax)Error: /;

const commandCheck: KitCheck = {
  topic: 'commands',
  name: 'each ends with an exit code or a sentence, whatever its words are',
  skip: (kit) => skippedUnless(kit.contributions().commands, 'it has no commands'),
  async run(kit) {
    for (const [position, name] of kit.contributions().commands.entries())
      for (const words of [[], ['--kit-unknown'], ['--kit-unknown', '\u0000'], ['x'.repeat(10_000)]]) {
        const outcome = await kit.call({ path: ['commands', position, 'run'], values: [words, '$context'] });
        const isCode = outcome.value === undefined || outcome.value === null || isExitCode(outcome.value);
        const isCrash = outcome.kind === 'threw' && PROGRAMMING_ERROR.test(outcome.error ?? '');
        if (outcome.kind === 'late' || isCrash || (outcome.kind === 'returned' && !isCode))
          throw new Error(
            `${name} ${describeOutcome(outcome)} ${summarise(outcome.value ?? '')} for ${summarise(words)}`,
          );
      }
  },
};

const isExitCode = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;

/** Unknown names, including some with a special meaning in query languages. */
const unknownNames = ['kit-nobody', '*', '*)(uid=*))(|(uid=*', "' OR '1'='1", 'admin\u0000', 'n'.repeat(254)];

const directoryCheck: KitCheck = {
  topic: 'sign-in',
  name: 'a directory recognises nobody by a wrong password',
  skip: (kit) => skippedUnless(kit.contributions().directories, 'it has no directory'),
  async run(kit) {
    for (const [position, directory] of kit.contributions().directories.entries()) {
      let responses = 0;
      for (const name of unknownNames) {
        const typed = { name, password: 'kit-wrong-password' };
        const path = ['identityProviders', position, 'authenticate'];
        const outcome = await kit.call({ path, values: [typed, '$signal'] });
        if (outcome.kind === 'late') throw new Error(`${directory} did not answer for ${name}`);
        if (outcome.kind === 'threw') continue;
        responses += 1;
        if (outcome.value !== null)
          throw new Error(
            `${directory} answered ${summarise(outcome.value ?? 'nothing')} for ${name}, and not null`,
          );
      }
      if (responses === 0) throw new Skipped(`${directory} could not be reached`);
    }
  },
};

export const hookChecks: readonly KitCheck[] = [
  ...gateChecks,
  maskCheck,
  policyCheck,
  feeCheck,
  jobCheck,
  commandCheck,
  directoryCheck,
];
