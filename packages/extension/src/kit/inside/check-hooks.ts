import type { Fee, MaskedSpan, RequestVerdict, LaneVerdict } from '../../index';
import type { HookCall, HookOutcome } from './agent';
import { type Check, type Kit, Skipped, skippedUnless } from './kit';
import { requestWith, roles, sampleLanes, sampleRecords, sampleRequests } from './sample-requests';

const CODE = /^[a-z][a-z0-9_]*$/;

/** Calls a hook with input that it has to bear, and gives what it returned. */
async function returnedBy(kit: Kit, what: string, call: HookCall): Promise<unknown> {
  const outcome = await kit.call(call);
  if (outcome.kind === 'returned') return outcome.value;
  throw new Error(`${what} ${describeOutcome(outcome)}, called with ${shortened(call.values)}`);
}

const describeOutcome = ({ kind, error = '' }: HookOutcome): string =>
  kind === 'threw' ? `threw ${error}` : kind === 'late' ? 'did not end within 20 s' : 'returned';

const shortened = (value: unknown): string => JSON.stringify(value).slice(0, 300);
const equal = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const withHook = (kit: Kit, hook: string): readonly { readonly position: number; readonly name: string }[] =>
  kit
    .facts()
    .gates.flatMap(({ name, hooks }, position) => (hooks.includes(hook) ? [{ position, name }] : []));

type Verdict = RequestVerdict | LaneVerdict;

/** Validation error of a verdict; null if it is valid. */
function verdictProblem(verdict: Verdict, texts: readonly { readonly text: string }[]): string | null {
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
      return `answers ${shortened(verdict ?? null)}, which is no verdict`;
  }
}

const gateChecks: readonly Check[] = [
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
            const verdict = await returnedBy(kit, `${name}.${hook}()`, {
              path: ['gates', position, hook],
              values,
            });
            const problem = verdictProblem(verdict as Verdict, request.texts);
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
          await returnedBy(kit, `${name}.settled()`, {
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
          const ask = (): Promise<unknown> =>
            returnedBy(kit, `${name}.request()`, {
              path: ['gates', position, 'request'],
              values: [requestWith(text), '$signal'],
            });
          const first = (await ask()) as RequestVerdict;
          const second = (await ask()) as RequestVerdict;
          const isRewrite = [first, second].some(({ verdict }) => verdict === 'rewrite');
          if (isRewrite && !equal(first, second))
            throw new Error(`${name} answered ${shortened(first)}, and then ${shortened(second)}`);
        }
    },
  },
  {
    topic: 'gates',
    name: "nothing of one organisation's request appears in the verdict for another's",
    skip: (kit) => skippedUnless(withHook(kit, 'request'), 'no gate has request()'),
    async run(kit) {
      const secret = 'kit-secret-of-one-organisation';
      const own = { id: 7, userId: 3, organisationId: 1, departmentId: null, projectId: null };
      const foreign = { id: 8, userId: 5, organisationId: 2, departmentId: null, projectId: null };
      for (const { position, name } of withHook(kit, 'request')) {
        const ask = (text: string, key: typeof own): Promise<unknown> =>
          returnedBy(kit, `${name}.request()`, {
            path: ['gates', position, 'request'],
            values: [requestWith(text, { key }), '$signal'],
          });
        for (const text of [kit.prompt, ...kit.texts]) {
          await ask(`${text} ${secret}`, own);
          const verdict = await ask(text, foreign);
          if (JSON.stringify(verdict).includes(secret))
            throw new Error(`${name} answered another organisation ${shortened(verdict)}`);
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
      return `returned ${shortened(span)}, which overlaps or lies outside of the text`;
    end = span.end;
  }
  return null;
}

const maskCheck: Check = {
  topic: 'masks',
  name: 'the same text gives the same spans every time, in order and within the text',
  skip: (kit) => skippedUnless(withHook(kit, 'answer'), 'no gate has an answer'),
  async run(kit) {
    for (const { position, name } of withHook(kit, 'answer')) {
      const find = async (text: string): Promise<unknown> => {
        const spans = await returnedBy(kit, `${name}.answer.find()`, {
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
            `${name} found ${shortened(first)} and then ${shortened([second, third])} in "${text}"`,
          );
      }
    }
  },
};

const policyCheck: Check = {
  topic: 'policies',
  name: 'each answers every request and every visit with a reason or null',
  skip: (kit) => skippedUnless([...kit.facts().policies, ...kit.facts().visitPolicies], 'it has no policies'),
  async run(kit) {
    const mustAnswer = async (
      what: string,
      path: HookCall['path'],
      values: readonly unknown[],
    ): Promise<void> => {
      const reason = await returnedBy(kit, what, { path, values });
      if (reason !== null && typeof reason !== 'string')
        throw new Error(`${what} answered ${shortened(reason ?? 'nothing')}, and not a reason or null`);
    };
    const { policies, visitPolicies, policyNames } = kit.facts();
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

const feeCheck: Check = {
  topic: 'fees',
  name: 'the same request gives the same fee, and no fee is negative',
  skip: (kit) => skippedUnless(kit.facts().fees, 'it has no fees'),
  async run(kit) {
    for (const [position, name] of kit.facts().fees.entries())
      for (const { operation, tags, key } of sampleRequests(kit.prompt)) {
        const request = { operation, model: 'kit-model', supplier: 'kit', region: 'local', tags, key };
        const feeOf = async (): Promise<Fee | null> =>
          (await returnedBy(kit, `${name}.fee()`, {
            path: ['priceComponents', position, 'fee'],
            values: [request],
          })) as Fee | null;
        const [first, second] = [await feeOf(), await feeOf()];
        if (!equal(first, second))
          throw new Error(`${name} answered ${shortened(first)}, and then ${shortened(second)}`);
        const parts = Object.values(first ?? {}).map(String);
        if (parts.some((part) => !/^\d+n?$/.test(part)))
          throw new Error(`${name} answered ${shortened(first)}, which is no fee`);
      }
  },
};

const jobCheck: Check = {
  topic: 'jobs',
  name: 'each succeeds, succeeds again, and ends when its signal does',
  skip: (kit) => skippedUnless(kit.facts().jobs, 'it has no jobs'),
  async run(kit) {
    for (const [position, name] of kit.facts().jobs.entries()) {
      const path = ['jobs', position, 'run'];
      for (const time of ['first', 'second'])
        await returnedBy(kit, `the ${time} run of ${name}`, { path, values: ['$signal'] });
      // An error is a way to end; the job is tried again later.
      const { kind } = await kit.call({ path, values: ['$aborted'] });
      if (kind === 'late') throw new Error(`${name} did not end although its signal had`);
    }
  },
};

const PROGRAMMING_ERROR = /^(?:Type|Reference|Range|Syntax)Error: /;

const commandCheck: Check = {
  topic: 'commands',
  name: 'each ends with an exit code or a sentence, whatever its words are',
  skip: (kit) => skippedUnless(kit.facts().commands, 'it has no commands'),
  async run(kit) {
    for (const [position, name] of kit.facts().commands.entries())
      for (const words of [[], ['--kit-unknown'], ['--kit-unknown', '\u0000'], ['x'.repeat(10_000)]]) {
        const outcome = await kit.call({ path: ['commands', position, 'run'], values: [words, '$context'] });
        const isCode = outcome.value === undefined || outcome.value === null || isExitCode(outcome.value);
        const isCrash = outcome.kind === 'threw' && PROGRAMMING_ERROR.test(outcome.error ?? '');
        if (outcome.kind === 'late' || isCrash || (outcome.kind === 'returned' && !isCode))
          throw new Error(
            `${name} ${describeOutcome(outcome)} ${shortened(outcome.value ?? '')} for ${shortened(words)}`,
          );
      }
  },
};

const isExitCode = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;

/** Names by which nobody is known, and some that mean more to a query language than to a reader. */
const strangers = ['kit-nobody', '*', '*)(uid=*))(|(uid=*', "' OR '1'='1", 'admin\u0000', 'n'.repeat(254)];

const directoryCheck: Check = {
  topic: 'sign-in',
  name: 'a directory recognises nobody by a wrong password',
  skip: (kit) => skippedUnless(kit.facts().directories, 'it has no directory'),
  async run(kit) {
    for (const [position, directory] of kit.facts().directories.entries()) {
      let answers = 0;
      for (const name of strangers) {
        const typed = { name, password: 'kit-wrong-password' };
        const path = ['identityProviders', position, 'authenticate'];
        const outcome = await kit.call({ path, values: [typed, '$signal'] });
        if (outcome.kind === 'late') throw new Error(`${directory} did not answer for ${name}`);
        if (outcome.kind === 'threw') continue;
        answers += 1;
        if (outcome.value !== null)
          throw new Error(
            `${directory} answered ${shortened(outcome.value ?? 'nothing')} for ${name}, and not null`,
          );
      }
      if (answers === 0) throw new Skipped(`${directory} could not be reached`);
    }
  },
};

export const hookChecks: readonly Check[] = [
  ...gateChecks,
  maskCheck,
  policyCheck,
  feeCheck,
  jobCheck,
  commandCheck,
  directoryCheck,
];
