import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { expect } from '../../../operations/http';
import { row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import { at, field, listAt, okJson, same, textAt } from './gateway-calls';

interface ListedCode {
  readonly code: string;
  readonly class: string;
}

/** Codes of section 7 of the document, each with its class. */
export const { codes } = JSON.parse(
  readFileSync(join(projectFolder, 'test/contract/error-codes.json'), 'utf8'),
) as {
  readonly codes: readonly ListedCode[];
};

const sections: Readonly<Record<string, string>> = { R: '7.3', B: '7.4', C: '7.5', P: '7.6', F: '7.7' };
/** Clauses of each class's suggested action in the specification. */
const actions: Readonly<Record<string, readonly RegExp[]>> = {
  R: [/read the message/i, /param.*detail/i, /correct the request or the resource/i, /then try again/i],
  B: [/Retry-After/, /where a retry is appropriate/i, /back off exponentially/i, /contact support/i],
  C: [/check the credential/i, /sign in again or have an administrator/i, /do not repeat.*same credential/i],
  P: [/check which policy/i, /account, model, project or organisation/i, /request access before/i],
  F: [
    /check who pays/i,
    /balance/i,
    /spending limits/i,
    /payment settings/i,
    /billing administrator before/i,
  ],
};

const entriesOf = async (world: SpecificationWorld) =>
  listAt(await okJson(world.anonymous.get('/v1/errors')), 'data') as Record<string, unknown>[];

/** Expects a text to contain every clause. */
function expectClauses(text: string, clauses: readonly RegExp[]): void {
  expect(clauses.length > 0, 'no clause was asked for');
  for (const clause of clauses) expect(clause.test(text), `nothing like ${String(clause)} in: ${text}`);
}

const classRows: readonly SpecificationRow[] = Object.entries(sections).flatMap(([name, section]) => {
  const classCodes = codes.filter((code) => code.class === name).map(({ code }) => code);
  const own = name === 'F' ? 1 : 0;
  return [
    row('7.2', `class ${name} suggests every step that the document names`, async (world) => {
      const entry = (await entriesOf(world)).find(({ code }) => code === classCodes[0]);
      expectClauses(textAt(entry, 'action'), actions[name] ?? []);
    }),
    row(section, `the ${classCodes.length} codes of class ${name} are these and no others`, async (world) => {
      const ownCodes = codes.filter((code) => code.class === 'own').map(({ code }) => code);
      const listedCodes = (await entriesOf(world))
        .filter((entry) => entry['action_class'] === name)
        .map(({ code }) => String(code));
      same(listedCodes.filter((code) => !ownCodes.includes(code)).toSorted(), classCodes.toSorted(), 'codes');
      if (own === 1)
        expect(listedCodes.includes('billing_limit_reached'), 'billing_limit_reached is of class F');
    }),
    row(
      section,
      `each code of class ${name} has a text for people, a type, a status and the action of its class`,
      async (world) => {
        const entries = await entriesOf(world);
        const first = textAt(
          entries.find(({ code }) => code === classCodes[0]),
          'action',
        );
        for (const code of classCodes) {
          const entry = entries.find((one) => one['code'] === code);
          for (const text of ['human_message', 'type']) textAt(entry, text);
          expect(Number(field(entry, 'status', 'integer')) >= 400, `status of ${code}`);
          same(at(entry, 'action'), first, `action of ${code}`);
        }
      },
    ),
  ];
});

interface OwnCode {
  readonly meaning: readonly RegExp[];
  readonly action: readonly RegExp[];
}

const stopped = [/incomplete/i, /side effects/i, /before you repeat/i];
const toSupport = [/do not repeat/i, /do not release its hold/i, /support the request ID/i];

/** Meaning and action of each code as in the document, clause by clause. */
const own: Readonly<Record<string, OwnCode>> = {
  billing_limit_reached: {
    meaning: [/account that pays/i, /no funds/i],
    action: [/top up the paying account or contact its billing administrator/i, /then try again/i],
  },
  budget_exceeded: {
    meaning: [/budget of this API key is used up/i],
    action: [/wait until the budget resets/i, /raise the key's limit/i, /wallet alone may not help/i],
  },
  csrf_rejected: {
    meaning: [/did not come from a page of this portal/i],
    action: [/reload the page on the portal's own address/i, /sign in again/i, /repeat the action/i],
  },
  edge_error: {
    meaning: [/edge could not reach the application/i],
    action: [/exponential backoff/i, /a few times at most/i, /contact support/i],
  },
  identity_execution_capacity: {
    meaning: [/identity that runs this work is fully occupied/i],
    action: [/wait for current work to finish/i, /Retry-After/, /forbid reallocation.*do not switch/i],
  },
  atomic_canary_manual_review: { meaning: [/was sent/i, /settlement.*review/i], action: toSupport },
  atomic_canary_unknown: { meaning: [/was sent/i, /outcome is not known/i], action: toSupport },
  realtime_call_recovery_required: {
    meaning: [/call may have been created/i, /recovered/i],
    action: [/do not create another call/i, /support the request ID/i],
  },
  requester_bridge_required_unavailable: {
    meaning: [/needs the requester bridge/i, /not available/i],
    action: [/administrator restore the bridge/i, /choose a workflow/i, /do not keep retrying/i],
  },
  settlement_pending: {
    meaning: [/document was converted/i, /settlement is still being recorded/i],
    action: [/same body/i, /same Idempotency-Key/i, /never with a new key/i, /support if it stays pending/i],
  },
  stream_error: { meaning: [/stream could not be completed/i], action: stopped },
  stream_interrupted: { meaning: [/stream stopped before it was complete/i], action: stopped },
  streaming_settlement_buffer_exceeded: {
    meaning: [/outgrew the buffer/i, /settlement/i],
    action: [
      /support reconcile the original request first/i,
      /smaller response/i,
      /buffer setting corrected/i,
    ],
  },
  streaming_settlement_cancelled: {
    meaning: [/settlement of this stream was cancelled/i],
    action: [
      /does not prove that no work was done/i,
      /do not repeat.*until support has confirmed/i,
      /billed/i,
    ],
  },
  streaming_settlement_failed: {
    meaning: [/settlement of this stream did not complete/i],
    action: [/unconfirmed/i, /do not repeat.*until support has reconciled/i, /request ID/i],
  },
  supplier_price_unresolved: {
    meaning: [/price.*could not be confirmed/i],
    action: [
      /administrator restore the exact price/i,
      /before or after the supplier ran/i,
      /already carried out/i,
    ],
  },
  supplier_settlement_failed: {
    meaning: [/supplier may have done the work/i, /cost could not be recorded/i],
    action: [/do not repeat/i, /support the request ID/i],
  },
  supplier_settlement_unavailable: {
    meaning: [/usage cannot be settled/i],
    action: [
      /do not repeat.*automatically/i,
      /support first confirms the original request and what was billed/i,
    ],
  },
};

/** Codes for which the document also defines status and type. */
const ownStatus: Readonly<Record<string, readonly [status: number, type: string]>> = {
  billing_limit_reached: [403, 'permission_error'],
};

const ownRows: readonly SpecificationRow[] = Object.entries(own).map(([code, { meaning, action }]) =>
  row('7.8', `\`${code}\` says what the document means by it, and each step to take`, async (world) => {
    const entry = await okJson(world.anonymous.get(`/v1/errors/${code}`));
    same(at(entry, 'code'), code, 'code');
    expectClauses(textAt(entry, 'human_message'), meaning);
    expectClauses(textAt(entry, 'action'), action);
    const [status, type] = ownStatus[code] ?? [at(entry, 'status'), at(entry, 'type')];
    same([at(entry, 'status'), at(entry, 'type')], [status, type], 'status and type');
  }),
);

export const codeRows: readonly SpecificationRow[] = [
  ...classRows,
  ...ownRows,
  row('7.1', '268 codes are declared', async (world) => {
    const listedCodes = (await entriesOf(world)).map(({ code }) => String(code));
    same(listedCodes.toSorted(), codes.map(({ code }) => code).toSorted(), 'codes');
    same(listedCodes.length, 268, 'count');
  }),
];
