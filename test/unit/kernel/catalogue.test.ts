import {
  type ActionClass,
  type ErrorCode,
  catalogue,
  isErrorCode,
  publicCatalogue,
  publicEntry,
  reachableCodes,
} from '../../../src/kernel';
import contract from '../../contract/error-codes.json';

const entries = [...catalogue.values()];
const entry = (code: ErrorCode) => catalogue.get(code)!;

test('error codes are exactly those of the contract', () => {
  expect([...catalogue.keys()].sort()).toEqual(contract.codes.map(({ code }) => code).sort());
  expect(catalogue.size).toBe(268);
});

test('action class of each code matches the contract', () => {
  const classifiedRows = contract.codes.filter((row) => row.class !== 'own');
  expect(classifiedRows.map(({ code }) => [code, catalogue.get(code as ErrorCode)?.actionClass])).toEqual(
    classifiedRows.map((row) => [row.code, row.class]),
  );
});

test('only the codes with class "own" have their own action', () => {
  const classActions = new Map<ActionClass, string>(
    (['internal_error', 'not_found', 'invalid_api_key', 'forbidden', 'payment_required'] as const).map(
      (code) => [entry(code).actionClass, entry(code).action],
    ),
  );
  expect(classActions.size).toBe(5);
  const entriesWithOwnAction = entries.filter(
    ({ action, actionClass }) => action !== classActions.get(actionClass),
  );
  expect(entriesWithOwnAction.map(({ code }) => code)).toEqual(
    contract.codes
      .filter((row) => row.class === 'own')
      .map(({ code }) => code)
      .sort(),
  );
});

test('each code has a distinct user-facing sentence', () => {
  expect(new Set(entries.map(({ humanMessage }) => humanMessage)).size).toBe(catalogue.size);
  for (const { code, humanMessage } of entries) {
    expect(humanMessage).toMatch(/^[A-Z].{18,118}[.]$/);
    expect(humanMessage).not.toContain(code.includes('_') ? code : '\0');
    expect(humanMessage).not.toContain(' - ');
  }
});

test('error type follows the status', () => {
  const typeOf = new Map([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [402, 'billing_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [405, 'invalid_request_error'],
    [408, 'timeout_error'],
    [409, 'conflict_error'],
    [413, 'invalid_request_error'],
    [415, 'invalid_request_error'],
    [421, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [501, 'api_error'],
    [502, 'api_error'],
    [503, 'overloaded_error'],
    [504, 'timeout_error'],
  ]);
  expect(entries.map(({ code, type }) => [code, type])).toEqual(
    entries.map(({ code, status }) => [code, typeOf.get(status)]),
  );
});

test.each([
  ['billing_limit_reached', 403, 'permission_error', 'F'],
  ['budget_exceeded', 402, 'billing_error', 'F'],
  ['csrf_rejected', 403, 'permission_error', 'C'],
  ['invalid_api_key', 401, 'authentication_error', 'C'],
  ['model_not_allowed', 403, 'permission_error', 'R'],
  ['model_not_found', 404, 'not_found_error', 'R'],
  ['email_taken', 409, 'conflict_error', 'R'],
  ['capacity_exceeded', 429, 'rate_limit_error', 'B'],
  ['supplier_limit', 429, 'rate_limit_error', 'R'],
  ['context_length_exceeded', 400, 'invalid_request_error', 'R'],
  ['upstream_error', 502, 'api_error', 'B'],
  ['autorouter_no_candidate', 503, 'overloaded_error', 'R'],
  ['supplier_settlement_failed', 500, 'api_error', 'R'],
] as const)('%s is a %i %s of class %s', (code, status, type, actionClass) => {
  expect(entry(code)).toMatchObject({ status, type, actionClass });
});

test('unavailable checks return 503 and never a refusal', () => {
  const unavailableEntries = entries.filter(({ code }) => code.endsWith('_unavailable'));
  expect(unavailableEntries.length).toBeGreaterThan(30);
  for (const { status } of unavailableEntries) expect(status).toBe(503);
});

test('errors of input, credentials, policies, payers and settlements are not retryable', () => {
  for (const { code, actionClass, status, retryable } of entries) {
    if ('CPF'.includes(actionClass)) expect([code, retryable]).toEqual([code, false]);
    if (status < 408 || status === 413 || status === 415) expect([code, retryable]).toEqual([code, false]);
    if (/^(supplier|streaming)_settlement|^stream_|^atomic_canary/.test(code)) {
      expect([code, retryable]).toEqual([code, false]);
    }
    if (status === 429) expect([code, retryable]).toEqual([code, true]);
  }
});

test('reachable codes are sorted and marked', () => {
  expect([...reachableCodes]).toEqual([...reachableCodes].sort());
  expect(entries.filter(({ reach }) => reach === 'reachable').map(({ code }) => code)).toEqual([
    ...reachableCodes,
  ]);
});

test('known codes are recognised and other values are not', () => {
  expect(isErrorCode('not_found')).toBe(true);
  for (const unknownCode of ['constructor', '', 'Not_Found', undefined, null, 404])
    expect(isErrorCode(unknownCode)).toBe(false);
});

test('public catalogue is plain JSON sorted by code', () => {
  const rows = publicCatalogue();
  expect(rows).toHaveLength(268);
  expect(rows.map(({ code }) => code)).toEqual(rows.map(({ code }) => code).sort());
  expect(JSON.parse(JSON.stringify(rows))).toEqual(rows);
  expect(publicEntry('billing_limit_reached')).toEqual({
    code: 'billing_limit_reached',
    type: 'permission_error',
    status: 403,
    action_class: 'F',
    human_message: 'The account that pays for this request has no funds left for it. Top it up to go on.',
    action: expect.stringContaining('Top up the paying account'),
    retryable: false,
    reach: 'reachable',
  });
  expect(publicEntry('toString')).toBeUndefined();
});
