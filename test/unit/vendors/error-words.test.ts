import { bedrock } from '../../../src/routing/suppliers/bedrock/bedrock';
import { geminiStyle } from '../../../src/routing/suppliers/gemini/gemini-style';
import { judgeErrorResponse } from '../../../src/routing/suppliers/kit';
import { messagesStyle } from '../../../src/routing/suppliers/messages-style/messages-style';
import { openaiStyle } from '../../../src/routing/suppliers/openai-style/openai-style';
import { type ErrorSign, errorSigns, meaningOf } from '../../../src/vendors';
import { bodyOf, styleOf } from '../../support/vendor-errors';

const styles = [openaiStyle, messagesStyle, geminiStyle, bedrock];

const meaningOfRow = (row: ErrorSign, body: object, status = row.status): string => {
  const style = styles.find(({ name }) => name === styleOf(row))!;
  return judgeErrorResponse(style, { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }).kind;
};
const namedRows = errorSigns.map((row) => [`${row.vendor} ${row.by} ${String(row.match)}`, row] as const);
const accountRows = errorSigns.filter(({ by, means }) => by === 'words' && means === 'account');

test.each(namedRows)('%s', (_name, row) => {
  expect(meaningOfRow(row, bodyOf(row))).toBe(row.means);
  expect(row.source).not.toBe('');
  expect(row.date).toMatch(/^20\d\d-\d\d-\d\d$/);
});

/** Forms in which vendors repeat a part of the request. */
const repeatForms: readonly ((text: string) => string)[] = [
  (text) => `${text}: Extra inputs are not permitted`,
  (text) => `${text}.: Extra inputs are not permitted`,
  (text) => `Invalid value: '${text}'. Supported values are: 'auto'.`,
  (text) => `Unrecognized request argument supplied: ${text}`,
  (text) => `"${text}" is not a valid model`,
  (text) => `The model \`${text}\` does not exist`,
  (text) => `tools.0.custom.name: String should match pattern; input was ${text}`,
  (text) => `Unknown name "${text}": Cannot find field.`,
];

test.each(accountRows.map((row) => [row.text!, row] as const))(
  'request that contains "%.40s" is not reported as an exhausted account',
  (text, row) => {
    for (const repeat of repeatForms)
      for (const body of [{ ...row, text: repeat(text) }])
        expect(meaningOfRow(row, bodyOf(body), 400)).toBe('invalid');
  },
);

test.each(['rate limit: Extra inputs are not permitted', 'overloaded: Field required'])(
  'request that contains "%s" does not close a lane',
  (message) => {
    expect(meaningOf({ type: 'invalid_request_error', message, status: 400 })).toBe('invalid');
    // In a stream or a server error, the same words are the supplier's own.
    expect(['rate_limit', 'overloaded']).toContain(meaningOf({ message, status: 503 }));
  },
);

test('error code takes precedence over the status, and the status over words', () => {
  expect(meaningOf({ code: 'credit_balance_exhausted', message: 'Rate limit', status: 429 })).toBe('account');
  expect(meaningOf({ code: 'insufficient_quota', message: '', status: 400 })).toBe('account');
  expect(meaningOf({ type: 'invalid_request_error', message: 'Insufficient Balance', status: 402 })).toBe(
    'account',
  );
  expect(meaningOf({ message: 'This organization has been disabled.', status: 404 })).toBe('not_found');
  expect(meaningOf({ message: 'This organization has been disabled.' })).toBe('account');
});
