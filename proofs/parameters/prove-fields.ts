import type { Answer, Client } from '../operations/http';
import type { Person, World } from '../operations/world';
import { type Findings, inParallel } from '../../test/system/findings';
import type { ContractField, ContractOperation } from './contract';
import { type Place, placesOf, tell } from './faults';
import { type OddField, oddFieldsOf, oddTextsOf } from './odd-fields';

const AT_ONCE = 6;
const LONGEST_SHOWN = 60;
const refusals = new Set([401, 403]);

/** These have to stand beside a field, so that it is looked at. */
const beside: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  '/dashboard/keys/new': { name: 'odd' },
  '/api/billing/auto-topup': { enabled: true, threshold: 10, amount: 50, monthly_ceiling: 500 },
  '/dashboard/admin/organisations/merge': { target_org_id: 999_999, source_org_ids: [999_998] },
};
const actOf: Readonly<Record<string, string>> = {
  raise_amount: 'raise',
  raise_until: 'raise',
  raise_id: 'end_raise',
  grace_seconds: 'rotate',
};

interface Case {
  readonly operation: ContractOperation;
  readonly field: ContractField;
  readonly odd: OddField;
}

/** Odd values for every field of every body that the contract lists: as JSON, and as the form of a page. */
export async function proveFields(
  findings: Findings,
  world: World,
  role: string,
  person: Person,
  operations: readonly ContractOperation[],
): Promise<void> {
  const { id: keyId } = await world.newKey(person, 'odd values');
  const casesOf = (of: 'body' | 'form', oddOf: (field: ContractField) => OddField[]): Case[] =>
    operations.flatMap((operation) =>
      (operation[of] ?? []).flatMap((field) => oddOf(field).map((odd): Case => ({ operation, field, odd }))),
    );
  const bodies = casesOf('body', oddFieldsOf);
  const forms = casesOf('form', oddTextsOf);
  const wrong: string[] = [];
  let refused = 0;
  const judge = (one: Case, answer: Answer, problem: string | null): void => {
    if (answer.status === 422) refused += 1;
    if (problem === null) return;
    const shown = JSON.stringify(one.odd.value).slice(0, LONGEST_SHOWN);
    wrong.push(`${one.operation.method} ${one.operation.path} ${one.field.name}=${shown}: ${problem}`);
  };
  await inParallel(AT_ONCE, bodies, async (one) => {
    const answer = await person.client.send('POST', addressOf(one, keyId), { json: bodyOf(one, keyId) });
    judge(one, answer, problemOf(one, answer));
  });
  await inParallel(AT_ONCE, forms, async (one) => {
    const answer = await asPage(person.client, one, keyId);
    const isLost = one.odd.verdict === 'outside' && ![422, ...refusals].includes(answer.status);
    judge(one, answer, answer.status >= 500 || isLost ? `${answer.status} for the page` : null);
  });
  tell(wrong);
  findings.over(
    `${role}: every value outside of its field's type is 422, every other has an ordinary answer`,
    Math.min(bodies.length, forms.length),
    wrong.length,
    `${bodies.length + forms.length} values, ${refused} refused, ${wrong.length} wrong`,
  );
}

const addressOf = ({ operation }: Case, keyId: number): string =>
  operation.path.replace('/keys/{key_id}', `/keys/${keyId}`).replaceAll(/\{\w+\}/g, '999999');

function bodyOf({ operation, field, odd }: Case, keyId: number): Record<string, unknown> {
  const ofKey = operation.path.endsWith('/autorouter/api-key') ? { key_id: keyId } : {};
  const act = operation.path.endsWith('/keys/{key_id}') ? actOf[field.name] : undefined;
  const acts =
    act === 'raise'
      ? { action: act, reason: 'odd', raise_amount: 1, raise_until: '2190-01-01' }
      : { action: act };
  return { ...ofKey, ...beside[operation.path], ...(act === undefined ? {} : acts), [field.name]: odd.value };
}

function asPage(client: Client, one: Case, keyId: number): Promise<Answer> {
  const form = Object.fromEntries(
    Object.entries({ name: 'odd', ...bodyOf(one, keyId) }).map(([name, value]) => [name, String(value)]),
  );
  return client.send('POST', addressOf(one, keyId), { headers: { accept: 'text/html' }, form });
}

function problemOf({ field, odd }: Case, answer: Answer): string | null {
  const { status } = answer;
  if (status >= 500 || status === 400) return `${status} ${answer.text.slice(0, 200)}`;
  if (refusals.has(status)) return null;
  const ownCode = field.code !== undefined && answer.text.includes(`"${field.code}"`);
  const places = status === 422 && !ownCode ? placesOf(answer) : [];
  if (typeof places === 'string') return places;
  const isNamed = ownCode || places.some(([place, name]: Place) => place === 'body' && name === field.name);
  return odd.verdict === 'outside' && !isNamed
    ? `${status}, wanted 422 for it: ${answer.text.slice(0, 150)}`
    : null;
}
