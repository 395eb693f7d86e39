import type { ReadResponse, Client } from '../operations/http';
import type { PortalUser, World } from '../operations/world';
import { type Findings, inParallel } from '../../test/system/findings';
import type { ContractField, ContractOperation } from './contract';
import { type ErrorLocation, locationsOf, printFailures } from './faults';
import { type OddField, oddFieldsOf, oddTextsOf } from './odd-fields';

const CONCURRENCY = 6;
const MAX_SHOWN_LENGTH = 60;
const REJECTION_STATUSES = new Set([401, 403]);

/** Companion fields without which the field under test is ignored. */
const companionFields: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  '/dashboard/keys/new': { name: 'odd' },
  '/api/billing/auto-topup': { enabled: true, threshold: 10, amount: 50, monthly_ceiling: 500 },
  '/dashboard/admin/organisations/merge': { target_org_id: 999_999, source_org_ids: [999_998] },
};
const actionOf: Readonly<Record<string, string>> = {
  raise_amount: 'raise',
  raise_until: 'raise',
  raise_id: 'end_raise',
  grace_seconds: 'rotate',
};

interface FieldCase {
  readonly operation: ContractOperation;
  readonly field: ContractField;
  readonly odd: OddField;
}

/** Sends odd values for every field of every body in the contract, as JSON and as an HTML form. */
export async function proveFields(
  findings: Findings,
  world: World,
  role: string,
  person: PortalUser,
  operations: readonly ContractOperation[],
): Promise<void> {
  const { id: keyId } = await world.newKey(person, 'odd values');
  const casesOf = (part: 'body' | 'form', oddOf: (field: ContractField) => OddField[]): FieldCase[] =>
    operations.flatMap((operation) =>
      (operation[part] ?? []).flatMap((field) =>
        oddOf(field).map((odd): FieldCase => ({ operation, field, odd })),
      ),
    );
  const bodies = casesOf('body', oddFieldsOf);
  const forms = casesOf('form', oddTextsOf);
  const failures: string[] = [];
  let rejectedCount = 0;
  const judge = (testCase: FieldCase, answer: ReadResponse, problem: string | null): void => {
    if (answer.status === 422) rejectedCount += 1;
    if (problem === null) return;
    const shownValue = JSON.stringify(testCase.odd.value).slice(0, MAX_SHOWN_LENGTH);
    failures.push(
      `${testCase.operation.method} ${testCase.operation.path} ${testCase.field.name}=${shownValue}: ${problem}`,
    );
  };
  await inParallel(CONCURRENCY, bodies, async (one) => {
    const answer = await person.client.send('POST', addressOf(one, keyId), { json: bodyOf(one, keyId) });
    judge(one, answer, problemOf(one, answer));
  });
  await inParallel(CONCURRENCY, forms, async (one) => {
    const answer = await asPage(person.client, one, keyId);
    const isAccepted = one.odd.verdict === 'outside' && ![422, ...REJECTION_STATUSES].includes(answer.status);
    judge(one, answer, answer.status >= 500 || isAccepted ? `${answer.status} for the page` : null);
  });
  printFailures(failures);
  findings.expectNoneWrong(
    `${role}: every value outside of its field's type is 422, every other has an ordinary answer`,
    Math.min(bodies.length, forms.length),
    failures.length,
    `${bodies.length + forms.length} values, ${rejectedCount} refused, ${failures.length} wrong`,
  );
}

const addressOf = ({ operation }: FieldCase, keyId: number): string =>
  operation.path.replace('/keys/{key_id}', `/keys/${keyId}`).replaceAll(/\{\w+\}/g, '999999');

function bodyOf({ operation, field, odd }: FieldCase, keyId: number): Record<string, unknown> {
  const ofKey = operation.path.endsWith('/autorouter/api-key') ? { key_id: keyId } : {};
  const action = operation.path.endsWith('/keys/{key_id}') ? actionOf[field.name] : undefined;
  const actionFields =
    action === 'raise'
      ? { action: action, reason: 'odd', raise_amount: 1, raise_until: '2190-01-01' }
      : { action: action };
  return {
    ...ofKey,
    ...companionFields[operation.path],
    ...(action === undefined ? {} : actionFields),
    [field.name]: odd.value,
  };
}

function asPage(client: Client, testCase: FieldCase, keyId: number): Promise<ReadResponse> {
  const form = Object.fromEntries(
    Object.entries({ name: 'odd', ...bodyOf(testCase, keyId) }).map(([name, value]) => [name, String(value)]),
  );
  return client.send('POST', addressOf(testCase, keyId), { headers: { accept: 'text/html' }, form });
}

function problemOf({ field, odd }: FieldCase, answer: ReadResponse): string | null {
  const { status } = answer;
  if (status >= 500 || status === 400) return `${status} ${answer.text.slice(0, 200)}`;
  if (REJECTION_STATUSES.has(status)) return null;
  const ownCode = field.code !== undefined && answer.text.includes(`"${field.code}"`);
  const locations = status === 422 && !ownCode ? locationsOf(answer) : [];
  if (typeof locations === 'string') return locations;
  const isNamed =
    ownCode || locations.some(([place, name]: ErrorLocation) => place === 'body' && name === field.name);
  return odd.verdict === 'outside' && !isNamed
    ? `${status}, wanted 422 for it: ${answer.text.slice(0, 150)}`
    : null;
}
